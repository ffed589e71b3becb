"""The programmable disk: a FUSE file system that serves one file, a loop device on it, ext4 or XFS on that."""
