package packcmd

import (
	"bytes"
	"context"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// GitRoot returns the top of the working tree that dir is in; empty where there is none.
func GitRoot(ctx context.Context, dir string) string {
	top, err := gitcli.Command{Dir: dir, Machine: true, Args: []string{"rev-parse", "--show-toplevel"}}.Output(ctx)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(top), "\r\n")
}

// GitFiles returns the first files, by their slash paths, that belong to the working tree at root: what git tracks and what it does not ignore.
func GitFiles(ctx context.Context, root string, most int) ([]string, error) {
	out, err := gitcli.Command{Dir: root, Machine: true, Args: []string{"ls-files", "-co", "--exclude-standard", "-z"}}.Output(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) > 0 && len(files) < most {
			files = append(files, string(name))
		}
	}
	return files, nil
}
