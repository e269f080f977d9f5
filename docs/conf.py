"""The documentation site: ``docs/build`` makes it in ``build/site``."""

import importlib.util
import re
import shutil
import sys
import tomllib
import warnings
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_site"))

import api_pages  # noqa: E402
import other_pages  # noqa: E402
import result_pages  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

_project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
project = _project["name"]
release = version = _project["version"]
author = f"the {project} developers"
copyright = author

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_site", "_static", "build", "images/*.py"]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# The types are in the docstrings, in words.
autodoc_typehints = "none"
autosummary_generate = True
# "fit()" beside the page, not "ProbabilisticSVC.fit()", which has no room there.
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# As in `pycon`, but pages are tested by pytest and shown without their prompts when copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# One file with everything, from a package: no request goes to another host.
mathjax_path = "mathjax/tex-svg.js"

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": project},
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "start": [], "install": []}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "subsection_order": ExplicitOrder(
        [
            f"../examples/{name}"
            for name in ("start", "decoding", "codes", "machines", "probabilities", "choosing")
        ]
    ),
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    # Its tables would be fetched from other hosts.
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("polychotomy",),
    "inspect_global_variables": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "plot_gallery": "True",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "matplotlib_animations": False,
}
# Examples show what users see; progress bars and backends are not a part of it.
warnings.filterwarnings("ignore", message=".*is non-interactive")


def _copy_mathjax(app, error):
    if error is None and app.builder.format == "html":
        spec = importlib.util.find_spec("sphinx-mathjax-offline")
        source = Path(spec.origin).parent / "static" / "mathjax" / "tex-svg.js"
        target = Path(app.outdir) / "_static" / "mathjax"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _skip_member(app, what, name, value, skip, options):
    # Made by scikit-learn for every estimator, with references into its own documentation.
    if name.startswith("set_") and name.endswith("_request"):
        return True
    # What a named tuple has from Python's.
    owner = getattr(value, "__objclass__", None)
    return True if owner is not None and owner.__module__ == "builtins" else skip


def _without_references(app, what, name, value, options, lines):
    # Inherited docstrings lead to pages of scikit-learn's documentation.
    if not (getattr(value, "__module__", None) or "polychotomy").startswith("polychotomy"):
        lines[:] = [re.sub(r":\w+:`~?([^<`]+?)(?:\s*<[^>]*>)?`", r"\1", line) for line in lines]


def _keep_underscores(app, what, name, value, options, lines):
    # "(n_features_in_,)" in a type would be a reference.
    lines[:] = [re.sub(r"(\w)_,\)", r"\1\\_,)", line) for line in lines]


def setup(app):
    """Write the pages that are made from the library and from its results."""
    api_pages.write(HERE / "api")
    result_pages.write(HERE / "generated", HERE / "results")
    app.connect("source-read", other_pages.complete)
    app.connect("autodoc-skip-member", _skip_member)
    app.connect("autodoc-process-docstring", _without_references, priority=100)
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)
    app.connect("build-finished", _copy_mathjax)
