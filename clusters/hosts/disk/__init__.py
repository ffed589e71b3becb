"""The programmable disk: a FUSE file system that serves one file; on it a loop device with ext4 or XFS."""
