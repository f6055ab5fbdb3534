# Set-up puts this file into etc/ipython of the environment, where every notebook kernel that starts there reads it.
c = get_config()  # noqa: F821
c.InteractiveShellApp.extensions = ["helpers.before"]
