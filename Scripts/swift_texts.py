#!/usr/bin/env python3
"""Scripts/swift_texts.py [--arguments] FILE…: prints the texts for people in Swift sources as a template of gettext, without its head.

These literals are texts:

- those in the arguments of calls that CALLS names; with --arguments also of other calls and of labels, which take a LocalizableText in programs that
  read arguments;
- those in the bodies and initial values of declarations of the type LocalizableText or an array of it, but not in calls there;
- with --arguments, the paragraphs of a literal of several lines after `details` or `text`.

A value in a literal becomes {1}, {2} and so on, as in LocalizableText.
"""

import re
import sys
from pathlib import Path

# The number of arguments that are texts.
CALLS = {"localized": 1, "counted": 2}
ARGUMENT_CALLS = {"error": 1, "complain": 1, "adding": 1, "report": 1}
ARGUMENT_LABELS = {"help", "reason", "summary", "group", "statuses", "quietHelp", "jsonHelp", "ofSeveral", "content"}
PARAGRAPHS = {"details", "text"}
OPENING, CLOSING = "([{", ")]}"
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>\#*"(?:"")?)|(?P<name>[A-Za-z_]\w*)|(?P<line>\n)|(?P<space>[ \t]+)'
    r"|(?P<mark>==|!=|\?\?|->|\S)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "0": "\0"}


class Literal:
    def __init__(self, text, values, is_long):
        self.text, self.values, self.is_long = text, values, is_long


def literal(source, start, quote):
    """The literal that begins at start, its end, and the tokens of its values."""
    hashes, is_long = quote.count("#"), quote.endswith('"""')
    end = ('"""' if is_long else '"') + "#" * hashes
    escape = "\\" + "#" * hashes
    at, text, values, inner = start + len(quote), "", [], []
    while not source.startswith(end, at):
        if not source.startswith(escape, at):
            text, at = text + source[at], at + 1
            continue
        at += len(escape)
        kind = source[at]
        if kind == "(":
            found, close = tokens(source, at + 1, until=")")
            inner += found
            values.append(source[at + 1:close - 1])
            text, at = text + "{%d}" % len(values), close
        elif kind == "u":
            close = source.index("}", at)
            text, at = text + chr(int(source[at + 2:close], 16)), close + 1
        elif kind == "\n":
            # Goes on in the next line, whose indentation is removed below.
            text, at = text + "\x00\n", at + 1
        else:
            text, at = text + ESCAPES[kind], at + 1
    if is_long:
        lines = text.split("\n")[1:]
        indent = len(lines.pop())
        text = "\n".join(line[indent:] for line in lines).replace("\x00\n", "")
    return Literal(text, values, is_long), at + len(end), inner


def tokens(source, at=0, until=None):
    """The tokens from a place on: names, marks, line breaks and literals; to the closing mark, or to the end."""
    found, depth = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        kind, text = match.lastgroup, match.group()
        at = match.end()
        if kind == "string":
            content, at, inner = literal(source, match.start(), text)
            found.append(("literal", content))
            # Calls inside of values are calls, too.
            found += [("mark", "("), *inner, ("mark", ")")] if inner else []
        elif kind not in ("space", "comment"):
            if kind == "mark" and text in OPENING:
                depth += 1
            elif kind == "mark" and text in CLOSING:
                if depth == 0 and text == until:
                    return found, at
                depth -= 1
            found.append((kind, text))
    return found, at


def region(found, start, arguments=None, is_line=False, has_lists=False):
    """The literals from a token on: of a number of arguments, of a line, or of a block. Those in other calls and in lists belong to these."""
    depth, skipped, texts = 0, None, []
    for index in range(start, len(found)):
        kind, text = found[index]
        before = found[index - 1]
        if kind == "mark" and text in OPENING:
            depth += 1
            is_call = text == "(" and before[0] in ("name", "literal") and before[1] not in ("return", "in", "case", "append")
            is_list = text == "[" and not has_lists
            if skipped is None and (is_call or is_list):
                skipped = depth
        elif kind == "mark" and text in CLOSING:
            if depth == 0:
                break
            if skipped == depth:
                skipped = None
            depth -= 1
        elif depth == 0 and arguments is not None and text == ",":
            arguments -= 1
            if arguments == 0:
                break
        elif depth == 0 and is_line and (kind == "line" and texts or text in (",", ";")):
            break
        elif kind == "literal" and skipped is None and before[1] not in ("case", "==", "!="):
            texts.append(text)
    return texts


def texts(source, has_arguments):
    calls = CALLS | (ARGUMENT_CALLS if has_arguments else {})
    labels = ARGUMENT_LABELS if has_arguments else set()
    found, _ = tokens(source)
    for index, (kind, text) in enumerate(found[:-1]):
        next_kind, following = found[index + 1]
        if kind != "name":
            continue
        before = found[index - 1][1] if index else ""
        if text in calls and following == "(" and before != "func":
            yield from region(found, index + 2, arguments=calls[text])
        elif text in labels and following == ":" and (text == "statuses" or not re.match(r"[A-Z\[]", str(found[index + 2][1]))):
            yield from region(found, index + 2, arguments=1, has_lists=text == "statuses")
        elif text == "group" and text in labels and following == "=":
            yield from region(found, index + 2, is_line=True)
        elif has_arguments and text in PARAGRAPHS and following in ("=", ":") and found[index + 2][0] == "literal":
            content = found[index + 2][1]
            if content.is_long:
                for paragraph in content.text.split("\n\n"):
                    yield Literal(" ".join(paragraph.split("\n")), content.values, False)
        elif text == "LocalizableText":
            after = index + 1
            while found[after][1] in ("?", "]", ")", "throws", "async"):
                after += 1
            if found[after][1] in ("=", "{"):
                yield from region(found, after + 1, is_line=found[after][1] == "=", has_lists=before == "[")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def main():
    entries, plurals = {}, set()
    has_arguments = "--arguments" in sys.argv
    sources = [Path(path).read_text() for path in sys.argv[1:] if path != "--arguments"]
    for source in sources:
        found, _ = tokens(source)
        for index, (kind, text) in enumerate(found[:-2]):
            if (kind, text, found[index + 1][1]) == ("name", "counted", "(") and found[index - 1][1] != "func":
                pair = region(found, index + 2, arguments=2)
                if len(pair) == 2:
                    entries[pair[0].text] = (pair[1].text, pair[1].values)
                    plurals.add(pair[1].text)
    for source in sources:
        for text in texts(source, has_arguments):
            if text.text not in plurals and re.search(r"[^\W\d_]", re.sub(r"\{\w+\}", "", text.text)):
                entries.setdefault(text.text, (None, text.values))
    for text, (plural, values) in sorted(entries.items()):
        print()
        named = ["{%d}: %s" % (number + 1, " ".join(value.split())) for number, value in enumerate(values)]
        if named:
            print("#. " + ", ".join(named))
        print("msgid " + quoted(text))
        if plural is None:
            print('msgstr ""')
        else:
            print("msgid_plural " + quoted(plural) + '\nmsgstr[0] ""\nmsgstr[1] ""')


main()
