"""Where an application writes: how each kind of sink is read, and how its outputs are attributed to their inputs."""
