"""Pictures as bytes: cut, flipped, of formats that are programs, bombs, of depths that Pillow clips, and good ones."""

import functools
import io
import struct
import zlib

import numpy as np
from broken_files import cuts, flip
from PIL import Image, PngImagePlugin

FORMATS = ["PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP", "PPM"]


def encoded(picture: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def noise(size=(20, 12)) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size[::-1], 3), dtype="uint8"))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *more: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff_of(array: np.ndarray) -> bytes:
    return encoded(Image.fromarray(array), "TIFF")


def text_bomb() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("a", "x" * 70_000_000, zip=True)
    return encoded(noise(), "PNG", pnginfo=info)


def with_exif(exif: bytes) -> bytes:
    whole = encoded(noise(), "JPEG")
    return whole[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + whole[2:]


@functools.cache
def bad() -> dict[str, bytes]:
    found = {}
    for kind in FORMATS:
        content = encoded(noise(), kind)
        for name, rest in list(cuts(content).items())[:-1]:
            if len(rest) < len(content) * 3 // 4:
                found[f"{kind}, {name}"] = rest
    ramp = np.linspace(0, 1, 240, dtype="f4").reshape(12, 20)
    vector = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n(x) run\nshowpage\n%%EOF\n"
    grey = {"F": ramp, "I": (ramp * 1000).astype("i4"), "F of 255": ramp * 255}
    return (
        found
        | {
            "EPS": vector,
            "DOS EPS": struct.pack("<IIIIIIIH", 0xC6D3D0C5, 32, len(vector), 0, 0, 0, 0, 0xFFFF) + b"\0\0" + vector,
            "PostScript": b"%!PS\n(x) run showpage\n" * 9,
            "PDF": encoded(noise(), "PDF"),
            "SVG": b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
            "WMF": struct.pack("<IHhhhhHIH", 0x9AC6CDD7, 0, 0, 0, 100, 100, 96, 0, 0)
            + b"\x01\0\t\0\0\x03"
            + b"\0" * 40,
            "FITS": b"SIMPLE  =                    T".ljust(2880),
            "HTML": b"<html>not found</html>",
            "nothing": b"",
            "a bomb of 60000x60000": png(60_000, 60_000, 1, 0, b"\0" * 9000),
            "a bomb of 18000x18000": png(18_000, 18_000, 1, 0, (b"\0" * 2251) * 18_000),
            "a bomb of texts": text_bomb(),
            "0 pixels": png(0, 0, 8, 2, b""),
            "a colour that is none": png(4, 4, 8, 9, b"\0" * 52),
            "a depth that is none": png(4, 4, 7, 2, b"\0" * 52),
            "rows that are missing": png(40, 400, 8, 2, b"\0" * 52),
            "a wrong sum": flip(encoded(noise(), "PNG"), 20),
            "EXIF of zeros": with_exif(b"Exif\0\0" + b"\0" * 40),
            "EXIF that is cut": with_exif(b"Exif\0\0MM\0\x2a"),
            "EXIF of another order": with_exif(b"Exif\0\0XX\0\x2a\0\0\0\x08\0\x01"),
            "EXIF without end": with_exif(b"Exif\0\0MM\0\x2a\0\0\0\x08\xff\xff" + b"\x01\x12\0\x03" * 4),
            "a wide PPM": b"P6\n99999999 99999999\n255\n" + b"\0" * 99,
            "a PPM of words": b"P6\nwide high\n255\n" + b"\0" * 99,
            "a PPM of depth 0": b"P6\n4 4\n0\n" + b"\0" * 99,
            "a PFM": b"Pf\n4 3\n-1.0\n" + ramp.tobytes()[:48],
        }
        | {f"a TIFF of {name}": tiff_of(array) for name, array in grey.items()}
    )


@functools.cache
def good() -> dict[str, tuple]:
    """Contents, and what must be true of the picture."""

    def upright(picture):
        return picture.size == (20, 12) and picture.mode == "RGB"

    def ramp(picture):
        values = np.asarray(picture)[..., 0].ravel()
        return len(set(values.tolist())) > 200 and values[0] < 3 and values[-1] > 252

    levels = np.linspace(0, 65535, 240).astype("u2").reshape(12, 20)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in levels)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encoded(noise((12, 20)), "JPEG", exif=exif)
    grey = {
        "a grey PNG of 16 bits": (png(20, 12, 16, 0, rows), ramp),
        "a grey TIFF of 16 bits": (tiff_of(levels), ramp),
        "a turned JPEG": (turned, upright),
    }
    kinds = {kind: (encoded(noise(), kind), upright) for kind in FORMATS}
    modes = {m: (encoded(noise().convert(m), "PNG"), upright) for m in ("L", "LA", "RGBA", "P", "1")}
    return kinds | grey | modes | {"CMYK": (encoded(noise().convert("CMYK"), "JPEG"), upright)}
