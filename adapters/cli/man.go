package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/manual"
	"github.com/countersign-dev/countersign/domain/fault"
)

// manWritten is what help --man prints as JSON.
type manWritten struct {
	Directory string `json:"directory"`
	Pages     int    `json:"pages"`
}

// writeMan writes a manual page of every command that help shows into a directory, which is made if it is not there. SOURCE_DATE_EPOCH dates the pages.
func writeMan(root *cobra.Command, s *command.Shell, dir, version string) error {
	addExamples(root)
	for _, t := range manual.Topics() {
		root.Long += "\n\n" + "**countersign help " + t.Name + "** shows: " + t.Title
	}
	root.DisableAutoGenTag = true
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return manFailed(err)
	}
	header := doc.GenManHeader{Section: "1", Source: "Countersign " + version, Manual: "Countersign"}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		return manFailed(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "countersign*.1"))
	if err != nil {
		return manFailed(err)
	}
	if s.JSON {
		return s.PrintJSON(manWritten{dir, len(pages)})
	}
	s.Line("%d pages in %s", len(pages), command.Plain(dir))
	return nil
}

func manFailed(err error) error {
	return fault.ErrUnavailable.WithMessage("cannot write the manual pages: %v", err).WithDetails(command.Hint("choose a directory that you can write to"))
}
