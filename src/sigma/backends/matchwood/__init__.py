"""Where pySigma looks for backends: with this package, `sigma convert -t matchwood` works."""

from matchwood.imports.sigma.backend import MatchwoodBackend

__all__ = ["MatchwoodBackend"]
