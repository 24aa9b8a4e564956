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
		Long: "Write Countersign's home into one tar file that only you can read: a consistent copy of the database (servers and agents can continue), keys/, config.yaml and\n" +
			"other state, without caches and running operations. The file contains the keys of the home, so protect it like the home. You approve its contents in\n" +
			"this terminal or in the console; otherwise the request stays pending and the exit code is 6.",
		Example: `  countersign backup /media/disk/countersign-$(date +%F).tar
  countersign backup ~/countersign.tar --force`}
	c.Flags().BoolVar(&over, "force", false, "replace FILE if it exists")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := filepath.Abs(args[0])
		if err != nil {
			return command.Usage(cmd, "not a file name: %q", args[0])
		}
		s.Patient = true
		made, o, err := command.Do(cmd.Context(), s, control.CreateBackup, control.BackupInput{File: file, Over: over})
		if f := fault.From(err); f != nil && f.Code == "backup_file_exists" {
			err = f.WithDetails(command.Hint("use --force to replace it"))
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
		s.Note("it contains the keys, so keep it private. To restore it: countersign restore FILE")
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
		Long: "Replace Countersign's home with a backup, completely or not at all. The current content is moved to a directory replaced-TIME in the home. Unused approvals,\n" +
			"grants, sessions, tokens and logins are not restored. The audit log records that it was restored, and continues from there in its anchors.\n" +
			"No other process may use the home meanwhile: stop servers and agents first. You approve the changes in this terminal or in the\n" +
			"console; otherwise the request stays pending and the exit code is 6.",
		Example: `  countersign restore /media/disk/countersign-2026-11-23.tar
  COUNTERSIGN_HOME=/tmp/look countersign restore countersign.tar`}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := filepath.Abs(args[0])
		if err != nil {
			return command.Usage(cmd, "not a file name: %q", args[0])
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
		s.Line("restored %s; its former content is in %s", command.Plain(done.Home), command.Plain(done.Aside))
		s.Note("tokens and logins were not restored; to check the audit log: countersign audit verify")
		return nil
	}
	return c
}
