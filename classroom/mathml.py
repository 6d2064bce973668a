"""TeX to MathML: latex2mathml, and what browsers want beyond it. A formula that it does not know is refused."""

import itertools
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

from .lessons import Refused

CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}
SCRIPTED = {"msub", "msup", "msubsup", "munderover"}
SIGNS, CLOSING = ("+", "−", "±"), (")", "]", "}", "|")


def mathml(tex: str, display: str = "inline") -> str:
    """A formula, `display` "inline" or "block", as an element <math>."""
    known = tex.replace("{aligned}", "{align*}")  # the one that latex2mathml has, and it looks the same
    try:
        root = ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", convert(known, display=display)))
    except Exception as error:  # latex2mathml has no one type for bad TeX
        raise Refused(f"no MathML for the formula {tex!r}: {type(error).__name__} {error}") from error
    for element in root.iter():
        if "\\" in (element.text or ""):  # latex2mathml passes on what it does not know
            raise Refused(f"no MathML for the formula {tex!r}: latex2mathml does not know {element.text}")
        if len(element) != CHILDREN.get(element.tag, len(element)):
            raise Refused(f"no MathML for the formula {tex!r}: {element.tag} with {len(element)} parts")
    for element in [*root.iter()]:
        _tidy(element)
    return ElementTree.tostring(root, encoding="unicode")


def _tidy(parent: ElementTree.Element) -> None:
    """Names of functions as letters with a thin space beside them, accents close to their letters, signs to theirs."""
    if parent.tag == "mover" and parent[1].tag == "mo":
        parent.set("accent", "true")
    children = [child for child in parent if not child.get("width", "").startswith("negative")]  # not in browsers
    parent[:] = []
    row = parent.tag in ("math", "mrow", "mtd")
    for child, following in itertools.zip_longest(children, children[1:]):
        name = child[0] if child.tag in SCRIPTED else child
        function = name.tag in ("mi", "mo") and (name.text or "").isalpha() and (len(name.text) > 1 or name.tag == "mo")
        before = parent[-1] if len(parent) else None
        if function or name.text == "∞":
            name.tag = "mi"  # an operator would get wide spaces
            if len(name.text) == 1:
                name.set("mathvariant", "normal")  # a name of one letter stands upright, too
        if function and row and before is not None and before.tag not in ("mo", "mspace"):
            parent.append(_thin())
        if child.text == "/":
            child.attrib.update(lspace="0", rspace="0")
        if child.text in SIGNS and before is not None and before.tag == "mo" and before.text not in CLOSING:
            child.set("form", "prefix")
        parent.append(child)
        if function and row and following is not None and following.tag not in ("mo", "mspace", "mrow"):
            parent.append(_thin())


def _thin() -> ElementTree.Element:
    return ElementTree.Element("mspace", width="0.167em")
