import Glibc

extension NGINXServer {
    /// One port, and what nginx speaks there.
    struct Listener {
        var port: Int
        /// Its certificate and private key, for TLS.
        var identity: (certificate: String, privateKey: String)?
        var offersHTTP2 = false

        /// The directives of its `server` block.
        var directives: String {
            guard let identity else { return "listen 127.0.0.1:\(port) backlog=512;" }
            let (parameter, directive) = NGINXServer.hasHTTP2Directive ? ("", "http2 on;") : (" http2", "")
            return """
                listen 127.0.0.1:\(port) ssl\(offersHTTP2 ? parameter : "") backlog=512;
                \(offersHTTP2 ? directive : "")
                ssl_certificate "\(identity.certificate)";
                ssl_certificate_key "\(identity.privateKey)";
                """
        }
    }

    /// Whether HTTP/2 is a directive. nginx warns of the parameter of `listen` since 1.25.1, and knows nothing else
    /// before.
    static let hasHTTP2Directive: Bool = {
        guard let nginx = try? ChildProcess(["sh", "-c", "exec /usr/sbin/nginx -v 2>&1"]) else { return false }
        defer { close(nginx.output) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = max(0, read(nginx.output, &bytes, bytes.count))
        let answer = String(decoding: bytes.prefix(count), as: UTF8.self)
        // "nginx version: nginx/1.22.1"
        let version = answer.split(separator: "/").last?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
        return !version.lexicographicallyPrecedes([1, 25, 1])
    }()

    static func listeners(
        port: Int, securePorts: [TestCertificates.Name: Int], offersHTTP2: Bool
    ) throws -> [Listener] {
        var listeners = [Listener(port: port)]
        guard !securePorts.isEmpty else { return listeners }
        let certificates = try TestCertificates.shared.get()
        for (name, port) in securePorts {
            let identity = (certificates.certificate(name), certificates.privateKey(name))
            listeners.append(Listener(port: port, identity: identity, offersHTTP2: offersHTTP2))
        }
        return listeners
    }

    static func configuration(
        listeners: [Listener], root: String, directory: String, locations: String
    ) -> String {
        let servers = listeners.map { "server { \($0.directives) root \"\(root)\"; \(locations) }" }
        return """
            daemon off;
            master_process off;
            pid \(directory)/nginx.pid;
            events { worker_connections 1024; }
            http {
                log_format entry '$request_method $request_uri $status $body_bytes_sent $connection $server_protocol'
                    '\\t$http_range\\t$http_if_range';
                access_log /dev/stdout entry;
                client_body_temp_path \(directory)/body;
                proxy_temp_path \(directory)/proxy;
                fastcgi_temp_path \(directory)/fastcgi;
                uwsgi_temp_path \(directory)/uwsgi;
                scgi_temp_path \(directory)/scgi;
                default_type application/octet-stream;
                types {
                    image/jpeg jpg jpeg; image/png png; image/gif gif; image/webp webp; text/html html; text/plain txt;
                }
                keepalive_requests 100000;
                \(servers.joined(separator: "\n"))
            }
            """
    }

    static func locations(root: String, directory: String, token: String) -> String {
        """
        location = /.ready { access_log off; return 200 '\(token)'; }
        location /.mark/ { return 204; }
        location /slow/ { alias "\(root)/"; limit_rate 20k; }
        location /gzip/ { alias "\(root)/"; gzip on; gzip_types *; gzip_min_length 0; }
        location /private/ { alias "\(root)/"; auth_basic tests; auth_basic_user_file "\(directory)/passwords"; }
        location = /page.html {
            default_type text/html;
            return 200 '<!doctype html><title>Not a picture</title>';
        }

        """
    }
}
