package admincmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/fault"
)

// BackupCommand returns the command backup.
func BackupCommand(s *command.Shell) *cobra.Command {
	var over bool
	c := &cobra.Command{Use: "backup FILE", Short: "Back up the home and its keys to one file", Args: command.Args(1, 1),
		Long: "Write Countersign's home into one tar file that only you can read: the database as it is at one moment (servers and agents may go on), keys/, config.yaml and\n" +
			"whatever else is state; not caches, and nothing of what runs just now. The file is as good as the home: whoever reads it has its keys. A person is shown what\n" +
			"it holds and asked, in this terminal or the console; without either the question waits and the exit code is 6.",
		Example: `  countersign backup /media/disk/countersign-$(date +%F).tar
  countersign backup ~/countersign.tar --force`}
	c.Flags().BoolVar(&over, "force", false, "replace FILE where it is there")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := filepath.Abs(args[0])
		if err != nil {
			return command.Usage(cmd, "%q is no name of a file", args[0])
		}
		s.Patient = true
		made, o, err := command.Do(cmd.Context(), s, control.CreateBackup, control.BackupInput{File: file, Over: over})
		if f := fault.From(err); f != nil && f.Code == "backup_file_exists" {
			err = f.WithDetails(command.Hint("--force replaces it"))
		}
		if err != nil {
			return s.Fail(o, err)
		}
		if s.JSON {
			return s.Show(o)
		}
		size := int64(0)
		for _, f := range made.Files {
			size += f.Size
		}
		s.Line("%s holds %s, %s", command.Plain(made.File), counted(len(made.Files), "file"), bytesSaid(size))
		s.Note("it holds the keys: keep it where nobody else reads it. countersign restore FILE puts it back")
		return nil
	}
	return c
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bytesSaid(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d kB", (n+1023)>>10)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// RestoreCommand returns the command restore.
func RestoreCommand(s *command.Shell, m Machine) *cobra.Command {
	c := &cobra.Command{Use: "restore FILE", Short: "Replace the home with a backup", Args: command.Args(1, 1),
		Long: "Put a backup in the place of Countersign's home, whole or not at all. What is there now stays beside it, in a directory replaced-TIME of the home. Approvals that\n" +
			"no call has used, grants, sessions, tokens and log-ins do not come back, and the audit tells that it was restored; what is put into its anchors from then on\n" +
			"is held to it. No other process may use the home meanwhile: end servers and agents first. A person is shown what changes and asked, in this terminal or the\n" +
			"console; without either the question waits and the exit code is 6.",
		Example: `  countersign restore /media/disk/countersign-2026-11-23.tar
  COUNTERSIGN_HOME=/tmp/look countersign restore countersign.tar`}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := filepath.Abs(args[0])
		if err != nil {
			return command.Usage(cmd, "%q is no name of a file", args[0])
		}
		if err := m.InUse(cmd.Context(), s.Lookup); err != nil { // before the user is asked
			return err
		}
		done, o, err := command.Do(cmd.Context(), s, control.RestoreBackup, control.RestoreInput{File: file})
		if err != nil {
			return s.Fail(o, err)
		}
		if err := s.Close(); err != nil { // only then replace the home
			return err
		}
		if s.JSON {
			return s.Show(o)
		}
		s.Line("%s is restored; what was there is in %s", command.Plain(done.Home), command.Plain(done.Aside))
		s.Note("tokens and log-ins did not come back; countersign audit verify says how the audit stands")
		return nil
	}
	return c
}
