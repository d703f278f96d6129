"""The pages of Documentation that are articles of the site, too: what Scripts/docs changes in their text.

- Links to other articles become those of the site, links to other files of the repository, which the site does not have, code.
- The columns with tests and the sections "How this page is …" are for the repository only.
- A table that has only symbols gets the first sentence of each symbol's documentation. In a table with examples, types and properties become links.
- A table of images becomes a grid, because the site has no line breaks in tables.
"""

import re

import modules as library

PAGES = [library.ROOT / "Documentation" / name for name in ("Faults.md", "Options.md", "Processing.md")]
PAGES += sorted((library.ROOT / "Documentation" / "Names").glob("*.md"))
GUIDES = library.ROOT / "Documentation" / "Guides.docc"
COLUMNS_OF_TESTS = {"Test", "Shown by"}
SYMBOLS = "Here"
EXAMPLES = "Example"


class Symbols:
    """The documented symbols by the names that pages use, such as `WebImageOptions.progressive`."""

    def __init__(self, graphs):
        self.found, spellings = {}, {}
        for graph in graphs:
            for symbol in graph["symbols"]:
                path = tuple(symbol["pathComponents"])
                if symbol["kind"]["identifier"] == "swift.extension":
                    continue
                self.found[".".join(path)] = (graph["module"]["name"], symbol)
                spellings.setdefault((*path[:-1], path[-1].lower()), {})[path] = symbol["kind"]["identifier"]
        # docc tells names apart that differ only in case, such as `configuration` and `Configuration`, by their kind.
        self.kinds = {path: kind for same in spellings.values() if len(same) > 1 for path, kind in same.items()}

    def link(self, name):
        """A link to the symbol with this name."""
        module, symbol = self.found[name]
        path = tuple(symbol["pathComponents"])
        parts = [path[:end] for end in range(1, len(path) + 1)]
        return f"``{'/'.join([module, *(part[-1] + (f'-{self.kinds[part]}' if part in self.kinds else '') for part in parts)])}``"

    def linked(self, text):
        """The text with links in place of the code that names types and properties."""
        return re.sub(r"`([\w.]+)`", lambda match: self.link(match[1]) if match[1] in self.found else match[0], text)

    def summary(self, name):
        """The first sentence of the symbol's documentation, with code in place of links."""
        text = "\n".join(line["text"] for line in self.found[name][1]["docComment"]["lines"])
        text = re.sub(r"``(?:[^`]*/)?([^`/]+)``", r"`\1`", " ".join(text.split("\n\n")[0].split()))
        return re.split(r"(?<=\.) (?=[A-Z`(])", text)[0]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def row(texts):
    return f"| {' | '.join(texts)} |"


def grid(rows):
    """The rows of a table of images as docc's grid."""
    lines = []
    for images in rows:
        lines.append(f"@Row(numberOfColumns: {len(images)}) {{")
        for text in images:
            lines += ["    @Column {", *(f"        {part}\n" for part in text.split("<br>") if part), "    }"]
        lines += ["}", ""]
    return lines


def table(lines, symbols):
    """A table of a page as the site shows it."""
    header, rows = cells(lines[0]), [cells(line) for line in lines[2:]]
    if all("![" in text or not text for line in rows for text in line):
        return grid(rows)
    shown = [index for index, name in enumerate(header) if name not in COLUMNS_OF_TESTS]
    header, rows = [header[index] for index in shown], [[line[index] for index in shown] for line in rows]
    if EXAMPLES in header:
        for line in rows:
            line[header.index(SYMBOLS)] = symbols.linked(line[header.index(SYMBOLS)])
    elif SYMBOLS in header:
        place = header.index(SYMBOLS)
        header[place] = "Setting"
        names = [line[place].strip("`") for line in rows]
        for line, name in zip(rows, names):
            line[place] = symbols.link(name)
        if len(header) == 1:
            header.append("Effect")
            for line, name in zip(rows, names):
                line.append(symbols.summary(name))
    return [row(header), row(["---"] * len(header)), *map(row, rows)]


def article(text, symbols):
    """The text of a page of Documentation as an article."""
    text = re.sub(r"^## How this page is .*?(?=^## |\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    articles = {page.stem for page in (*PAGES, *GUIDES.glob("*.md"))}

    def link(match):
        stem = match[2].rpartition("/")[2].removesuffix(".md")
        return f"<doc:{stem}>" if stem in articles else f"`{match[1]}`"

    text = re.sub(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)#]*)[^)]*\)", link, text)
    result, lines = [], text.splitlines() + [""]
    while lines:
        if lines[0].startswith("|"):
            end = next(index for index, line in enumerate(lines) if not line.startswith("|"))
            result += table(lines[:end], symbols)
            lines = lines[end:]
        else:
            result.append(lines.pop(0))
    return "\n".join(result)
