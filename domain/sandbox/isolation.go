package sandbox

import "strings"

// The kinds of isolation. Each has a form without network, which ends in offline; a container may name its image after a colon.
const (
	IsolationNone       = "none"
	IsolationLandlock   = "landlock"   // of the Linux kernel
	IsolationBubblewrap = "bubblewrap" // bwrap, with namespaces of Linux
	IsolationContainer  = "container"  // docker or podman
	offline             = "-offline"
)

// DefaultImage is the default image of containers: Debian with git and curl.
const DefaultImage = "docker.io/library/buildpack-deps:scm"

const maxImage = 255 // bytes of an image's name

// ParseIsolation returns the kind of an isolation, and whether it has no network. An empty text is IsolationNone. It fails with ErrArguments.
func ParseIsolation(word string) (kind string, noNetwork bool, err error) {
	head, image, named := strings.Cut(word, ":")
	kind, noNetwork = strings.CutSuffix(head, offline)
	switch {
	case word == "" || word == IsolationNone:
		return IsolationNone, false, nil
	case kind == IsolationContainer && named && !isImage(image):
		return "", false, ErrArguments.WithMessage("invalid image %.80q; write, for example, container:docker.io/library/node:22", word)
	case kind == IsolationContainer, !named && (kind == IsolationLandlock || kind == IsolationBubblewrap):
		return kind, noNetwork, nil
	}
	return "", false, ErrArguments.WithMessage("unknown isolation %.40q; use landlock, bubblewrap, container or container:IMAGE, the same with -offline (container-offline:IMAGE), or none", word)
}

// IsolationImage returns the image of a container.
func IsolationImage(word string) string {
	if _, image, named := strings.Cut(word, ":"); named {
		return image
	}
	return DefaultImage
}

// isImage reports whether text can name an image, and is not an option.
func isImage(name string) bool {
	return name != "" && len(name) <= maxImage && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/:@", r)
	})
}

// IsolationHolds describes what an isolation prevents, and what it does not.
func IsolationHolds(word string) (holds, not []string) {
	kind, noNetwork, err := ParseIsolation(word)
	if err != nil || kind == IsolationNone {
		return nil, nil
	}
	if kind == IsolationContainer {
		holds = []string{"only the sandbox and the clone's .git are visible; of .git, only objects, refs, logs and the sandbox's worktree data are writable",
			"the home directory with its settings and logins is not visible; environment variables are limited to the sandbox's and those given with --env"}
		not = []string{"refs and objects of the clone's other branches", "files of the sandbox that you run afterwards, such as build scripts",
			"the content of the image, which is downloaded if missing and may change with its tag; a digest (IMAGE@sha256:…) never changes. The image must contain the program",
			"vulnerabilities of the kernel, which the container shares", "a container whose command was killed with SIGKILL: it runs until docker or podman stops it", "ports: none is reachable from outside the container"}
		if noNetwork {
			return append(holds, "no network"), not
		}
		return holds, append(not, "the network")
	}
	holds = []string{"only the sandbox, git's objects, refs and logs of the clone, and a directory for temporary files are writable",
		"in the home directory, only the sandbox, the clone's .git and directories of the PATH are readable; settings and logins of programs are not"}
	not = []string{"refs and objects of the clone's other branches", "files of the sandbox that you run afterwards, such as build scripts",
		"files in /usr, /etc, /opt and /proc that every user of this machine can read"}
	if kind == IsolationLandlock {
		not = append(not, "modes, times and attributes of your files elsewhere, and your other terminals",
			"sockets of other programs, such as D-Bus, Docker and an SSH agent: their work is done outside the sandbox")
	}
	if kind == IsolationBubblewrap {
		not = append(not, "symbolic links in place of git's branch logs, which git would follow outside the sandbox")
	}
	switch {
	case kind == IsolationLandlock && noNetwork:
		holds, not = append(holds, "no TCP"), append(not, "UDP")
	case noNetwork:
		holds = append(holds, "no network")
	default:
		not = append(not, "the network")
	}
	return holds, not
}
