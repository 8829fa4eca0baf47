"""Run the code of gallery.md and save the figure of each block to the picture that follows it.

Run as ``python docs/make_gallery.py``; needs matplotlib.
"""

import io
import re
import sys
from pathlib import Path

import matplotlib as mpl
from PIL import Image

DOCS = Path(__file__).parent
BLOCK_AND_PICTURE = re.compile(r"^```python\n(.*?)^```\n(?:\n!\[[^\]]*\]\((.*?)\))?", re.DOTALL | re.MULTILINE)


def main(folder=DOCS):
    """Write the pictures, under the paths by which gallery.md calls them; returns those paths."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    namespace, paths = {}, []
    for code, picture in BLOCK_AND_PICTURE.findall((DOCS / "gallery.md").read_text(encoding="utf-8")):
        exec(compile(code, "gallery.md", "exec"), namespace)
        if picture:
            path = Path(folder) / picture
            path.parent.mkdir(exist_ok=True)
            drawn = io.BytesIO()
            plt.gcf().savefig(drawn, dpi=100)
            plt.close("all")
            Image.open(drawn).convert("RGB").quantize(256).save(path, optimize=True)  # a third of the size
            paths.append(path)
    return paths


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in main())
