"""Programs that write files of this repository from its code; tests fail when such a file is not up to date."""
