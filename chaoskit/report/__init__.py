"""HTML reports: self-contained files that work offline, in light and dark mode, on phones and wide screens."""
