"""Where the package's files are."""
import os

_TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree")


def library_path():
    """libvramspan, for programs and frameworks that take their memory from it."""
    return os.path.join(_TREE, "lib", "libvramspan.so.0")


def preload_path():
    """libvramspan_preload.so, which `vramspan run` puts into LD_PRELOAD."""
    return os.path.join(_TREE, "lib", "libvramspan_preload.so")


def binary_path():
    """The command `vramspan`."""
    return os.path.join(_TREE, "bin", "vramspan")
