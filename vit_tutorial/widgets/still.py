"""What a widget shows where none can run."""

import anywidget


class Still(anywidget.AnyWidget):
    """A widget for whoever can run it, and a picture with words for everyone else: what `still` returns."""

    def still(self) -> tuple[str, str]:
        """A PNG in base64, and its words."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        picture, alt = self.still()
        return dict(data or {}) | {"image/png": picture, "text/plain": alt}, {**metadata, "image/png": {"alt": alt}}
