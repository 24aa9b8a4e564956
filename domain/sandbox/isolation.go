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
		return "", false, ErrArguments.WithMessage("%.80q names no image; it is like container:docker.io/library/node:22", word)
	case kind == IsolationContainer, !named && (kind == IsolationLandlock || kind == IsolationBubblewrap):
		return kind, noNetwork, nil
	}
	return "", false, ErrArguments.WithMessage("%.40q is no isolation; there are: landlock, bubblewrap, container and container:IMAGE, the same with -offline (container-offline:IMAGE), and none", word)
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
		holds = []string{"of this machine's files only the sandbox and the clone's .git are there, and of that git's objects, refs and logs, and its notes on the sandbox, can be written",
			"the home directory, its settings and logins are not there; of variables, the sandbox's and those that the agent is given are, by their names (--env)"}
		not = []string{"refs and objects of the clone's other branches", "what others run of the sandbox's files afterwards, like its build scripts",
			"what is in the image, which is downloaded where it is missing and which its tag may come to mean; a digest (IMAGE@sha256:…) stays the same. The program has to be in it",
			"faults of the kernel, which the container shares", "a container whose command was killed outright: it goes on until docker or podman stops it", "ports: none is reached from outside of the container"}
		if noNetwork {
			return append(holds, "no network"), not
		}
		return holds, append(not, "the network")
	}
	holds = []string{"files are written in the sandbox, in git's objects, refs and logs of the clone, and in a directory for temporary files alone",
		"of the home directory nothing is read but the sandbox, the clone's .git, and directories of the PATH; so a program's own settings and logins in the home are not there"}
	not = []string{"refs and objects of the clone's other branches", "what others run of the sandbox's files afterwards, like its build scripts",
		"what every user of this machine may read in /usr, /etc, /opt and /proc"}
	if kind == IsolationLandlock {
		not = append(not, "modes, times and attributes of your files elsewhere, and your other terminals",
			"sockets of other programs in the file system, like D-Bus, Docker and an ssh agent: what these do for a program is done outside")
	}
	if kind == IsolationBubblewrap {
		not = append(not, "links in the place of git's logs of branches, which git would follow outside")
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
