"""Small SVG charts: their elements, and one style for charts in files and charts inside the page (whose theme they follow)."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

NAMESPACE = "http://www.w3.org/2000/svg"
STYLE = """
.chart text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--text); }
.chart .ground { fill: var(--page); } .chart .faint { fill: var(--dim); } .chart .grid { stroke: var(--line); }
.chart .one { stroke: var(--link); } .chart .two { stroke: var(--open-text); } .chart .three { stroke: var(--good-text); }
.chart text.one, .chart text.two, .chart text.three { stroke: none; font-weight: 600; }
.chart text.one { fill: var(--link); } .chart text.two { fill: var(--open-text); } .chart text.three { fill: var(--good-text); }
.chart .curve { fill: none; stroke-width: 2; }
"""
LIGHT = (
    "--page:#fff;--text:#1f2328;--dim:#59636e;--line:#d0d7de;--soft:#f6f8fa;--link:#0969da;"
    "--good-text:#116329;--bad-text:#cf222e;--open-text:#7d4e00"
)
DARK = (
    "--page:#0d1117;--text:#e6edf3;--dim:#9198a1;--line:#3d444d;--soft:#161b22;--link:#4493f8;"
    "--good-text:#57d271;--bad-text:#f85149;--open-text:#e3b341"
)


def canvas(width: float, height: float, label: str) -> Element:
    """Return an SVG chart with only its ground; `label` describes it for screen readers."""
    root = Element("svg", {"xmlns": NAMESPACE, "class": "chart", "role": "img", "aria-label": label})
    root.set("viewBox", f"0 0 {width:g} {height:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{height:g}")
    SubElement(root, "rect", {"class": "ground", "width": f"{width:g}", "height": f"{height:g}"})
    return root


def text(root: Element, x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> None:
    """Add a line of text to a chart; `kind` is its style class."""
    SubElement(root, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}).text = content


def embed(root: Element) -> str:
    """Return the chart as text, for a page that has the style and the colours already."""
    return ElementTree.tostring(root, encoding="unicode").replace(f' xmlns="{NAMESPACE}"', "", 1)


def standalone(root: Element) -> str:
    """Return the chart as the text of a file of its own, light or dark as the reader's system is."""
    colours = f".chart{{{LIGHT}}} @media (prefers-color-scheme: dark) {{ .chart{{{DARK}}} }}"
    style = Element("style")
    style.text = STYLE + colours
    root.insert(0, style)
    whole = ElementTree.tostring(root, encoding="unicode") + "\n"
    root.remove(style)
    return whole
