"""Sphinx's settings for the pages; classroom/make/pages.py writes what they are made of."""

SCROLL = """addEventListener("load", () => document.querySelectorAll("pre").forEach((box) => {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; // for the keyboard
}));"""

project = "A Vision Transformer, step by step"
copyright = "the vit-tutorial authors. Text and figures: CC BY 4.0. Code: MIT"
html_title = "A Vision Transformer, step by step"
extensions = ["myst_nb"]
nb_execution_mode = "off"
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type"]
html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1d5a96", "color-brand-content": "#1d5a96"},
    "dark_css_variables": {"color-brand-primary": "#8cbdf0", "color-brand-content": "#8cbdf0"},
}
html_css_files = ["pages.css"]
html_js_files = [(None, {"body": SCROLL})]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_sphinx = False
html_show_search_summary = False
html_static_path = ["_static"]
html_extra_path = ["_extra"]
mathjax_path = "tex-svg-full.js"
show_warning_types = True
language = "en"
