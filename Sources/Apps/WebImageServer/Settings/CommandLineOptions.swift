internal import CommandReference
internal import WebImageCore

/// The command line: options with values, in the table of settings, and some that only print.
enum CommandLineOptions {
    enum Request {
        case help, version, manual
        case run([(name: String, value: String)])
    }

    static let program = "webimage-server"

    static func request(_ arguments: [String]) throws(StartFailure) -> Request {
        let given: CommandArguments
        do throws(CommandArguments.Failure) {
            given = try CommandArguments(arguments, for: syntax)
        } catch {
            throw StartFailure(description: error.reason.english)
        }
        if given.isGiven("help") { return .help }
        if given.isGiven("version") { return .version }
        if given.isGiven("man") { return .manual }
        if let operand = given.operands.first {
            throw StartFailure(description: "unexpected argument '\(operand)'")
        }
        return .run(given.options.map { ($0.name, $0.value?.description ?? "true") })
    }

    /// For help and the manual page.
    static var syntax: CommandSyntax {
        var options = Setting.all.map { setting in
            CommandSyntax.Option(
                name: setting.name, valueName: setting.value, mayHaveValue: true,
                help: "\(setting.help) (\(setting.variable))", group: setting.group)
        }
        options += [
            CommandSyntax.Option(
                name: "config", valueName: "FILE", completion: .file,
                help: "A file with a variable in each line (WEBIMAGE_CONFIG)", group: "Other"),
            CommandSyntax.Option(name: "help", letter: "h", help: "Print this text", group: "Other"),
            CommandSyntax.Option(name: "man", help: "Print the manual page", group: "Other"),
            CommandSyntax.Option(name: "version", help: "Print the version", group: "Other"),
        ]
        return CommandSyntax(
            program: program, summary: "Serve images that URLs describe", operands: "",
            details: """
                Each option has a variable of the environment, in parentheses. Options take precedence over the environment, and the
                environment over the file of --config.
                """, options: options)
    }

    static var manualPage: String {
        let description = ProgramDescription(
            name: program, tagline: "serve images that URLs describe",
            text: """
                Resizes, crops and converts images as URLs describe it, in the form of imgproxy's URLs:
                /SIGNATURE/rs:fill:300:300/plain/https://example.org/photo.jpg@webp.

                With --upload-to, it also takes images with POST /upload, stores them, and answers with their URL.

                Besides, /health says that the server runs, /ready whether it takes requests, /status in what sandbox images
                are decoded, and /metrics has counters and times for Prometheus.
                """,
            statuses: [
                ("0", "It was stopped by a signal."), ("1", "It could not start."),
                ("2", "The settings are invalid."),
            ],
            sections: [
                (
                    "ENVIRONMENT",
                    [
                        (
                            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
                            "The keys of S3 stores."
                        ),
                        ("WEBIMAGE_SHARED_SECRET", "The secret of all machines that use the shared cache."),
                        ("LISTEN_FDS, NOTIFY_SOCKET", "Set by systemd."),
                    ]
                )
            ])
        return ManualPage(description, commands: [syntax], origin: program + " --man").text
    }
}
