"""The API reference of the site: each public name that docs/api.md lists, with its signature, docstring and methods.

MkDocs calls the functions `on_...`; the pages exist only in the site.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

API = Path(__file__).parents[1] / "api.md"
NAME = re.compile(r"`([A-Za-z_]\w*)`")
ROW = re.compile(r"^\| ([^|]+) \| (.+) \|$", re.M)


def sections() -> dict[str, str]:
    """The parts of the page of names, by the module that they are about."""
    parts = API.read_text().split("\n## `")[1:]
    return {part.split("`", 1)[0]: part.split("`", 1)[1] for part in parts}


def tasks(section: str) -> dict[str, list[str]]:
    """The names of a section by their task."""
    rows = [(task, NAME.findall(names)) for task, names in ROW.findall(section) if not task.startswith(("-", "task"))]
    inside = {name for _, names in rows for name in names}
    prose = [n for n in NAME.findall(ROW.sub("", section)) if n not in inside]
    found: dict[str, list[str]] = {"": list(dict.fromkeys(prose))}
    for task, names in rows:
        found.setdefault(task, []).extend(names)
    return found


# ---------------------------------------------------------------- one name


def signature(value: Any, name: str) -> str:
    """How it is called; annotations as they are written."""
    try:
        text = f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return name
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def markdown(text: str) -> str:
    """A docstring as Markdown: examples fenced, arguments as a list."""
    out: list[str] = []
    fenced = False
    for line in inspect.cleandoc(text).splitlines():
        example = line.startswith((">>>", "..."))
        if fenced and not line.strip():
            out.append("```")
            fenced = False
        if example and not fenced:
            out += ["", "```pycon"]
            fenced = True
        argument = re.match(r"    (\*{0,2}\w[\w, *]*): (.*)", line)
        if fenced:
            out.append(line)
        elif re.fullmatch(r"(Args|Arguments|Returns|Raises):", line):
            out += ["", f"**{line[:-1]}**", ""]
        elif argument:
            out.append(f"- `{argument[1]}`: {argument[2]}")
        else:
            out.append(line)
    return "\n".join([*out, "```"] if fenced else out)


def methods(cls: type) -> list[tuple[str, Any]]:
    """The public methods that a class defines itself and documents."""
    own = [(n, getattr(cls, n)) for n in vars(cls) if not n.startswith("_")]
    return [(n, m) for n, m in own if callable(m) and not inspect.isclass(m) and inspect.getdoc(m)]


def entry(module: Any, name: str) -> str:
    """One public name, with everything that is said about it."""
    value = getattr(module, name)
    documented = callable(value) or inspect.ismodule(value)
    doc = inspect.getdoc(value) if documented else f"`{html.escape(repr(value))}`"
    lines = [f"### {name} {{ #{name} }}", ""]
    if callable(value):
        lines += ["```python", signature(value, name), "```", ""]
    lines += [markdown(doc or ""), ""]
    if inspect.isclass(value) and value.__module__.startswith("adjoint") and not issubclass(value, BaseException):
        for n, method in methods(value):
            lines += [f"#### `{name}.{n}` {{ #{name}.{n} }}", "", "```python", signature(method, n), "```", ""]
            lines += [markdown(inspect.getdoc(method) or ""), ""]
    return "\n".join(lines)


def page(module_name: str, section: str) -> str:
    """The reference of one module."""
    module = importlib.import_module(module_name)
    lines = [f"# {module_name}", "", markdown(module.__doc__ or ""), ""]
    for task, names in tasks(section).items():
        lines += [f"## {task[0].upper()}{task[1:]}", ""] if task else []
        lines += [entry(module, name) for name in names if hasattr(module, name)]
    return "\n".join(lines)


# ---------------------------------------------------------------- what MkDocs calls


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, section in sections().items():
        if any(tasks(section).values()):
            files.append(File.generated(config, f"reference/{name}.md", content=page(name, section)))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """On the page of names, each name leads to its entry."""
    if page.file.src_uri != "api.md":
        return text
    head, *parts = text.split("\n## `")
    return "\n## `".join([head, *(linked(*part.split("`", 1)) for part in parts)])


def linked(module: str, section: str) -> str:
    """A section of the page with its names as links."""
    known = {name for names in tasks(section).values() for name in names}
    return f"{module}`" + NAME.sub(
        lambda m: f"[{m[0]}](reference/{module}.md#{m[1]})" if m[1] in known else m[0], section
    )
