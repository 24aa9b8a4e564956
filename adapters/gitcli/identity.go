package gitcli

import "os"

// Identity returns who commits, where the caller's environment says so. It is for commands that commit in the user's name; all others see nothing of
// that environment.
func Identity() (env []string) {
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
