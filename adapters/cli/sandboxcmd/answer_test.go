package sandboxcmd_test

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Also what the command line itself refuses, without asking any tool, is one document under --json.
func TestEveryRefusalIsOneDocument(t *testing.T) {
	s := stage{answers: answers{"opencode_project_list": says(shop), "opencode_sandbox_list": says(completeSandboxNames), "sandbox_backups": says(backups),
		"opencode_project_status": says(`{"status":"not_found","git_url":"git@h:o/x.git","message":"m"}`),
		"opencode_sandbox_delete": fails(fault.New(fault.Conflict, "sandbox_dirty", "work is in the way"))}}
	for name, c := range map[string]struct {
		words      []string
		code, word string
	}{
		"a project that is not there":      {[]string{"ls", "nonesuch"}, "sandbox_name_unknown", "nonesuch"},
		"no project at all":                {[]string{"ls"}, "sandbox_project_unnamed", "no project given"},
		"a sandbox that is not there":      {[]string{"enter", "acme-shop", "nonesuch"}, "sandbox_unknown", "nonesuch"},
		"a log of a project that is not":   {[]string{"logs", "git@h:o/x"}, "sandbox_name_unknown", "git@h:o/x.git"},
		"a ref that several end so":        {[]string{"restore", "git@h:o/x", "17"}, "name_ambiguous", "17"},
		"flags that contradict each other": {[]string{"logs", "acme-shop", "-f"}, "usage_invalid", "--follow"},
		"an argument too many":             {[]string{"ls", "a", "b"}, "usage_invalid", "too many"},
		"a command that there is not":      {[]string{"nonesuch"}, "usage_invalid", "nonesuch"},
		"what a tool refuses, once":        {[]string{"rm", "acme-shop", "fix"}, "sandbox_dirty", "work is in the way"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.run(t, append(c.words, "--json")...)
			require.Error(t, got.err)
			var doc struct {
				Error               bool
				Code, Message, Hint string
			}
			require.NoError(t, json.Unmarshal([]byte(got.out), &doc), "one document: %q", got.out)
			assert.True(t, doc.Error)
			assert.Contains(t, doc.Message, c.word)
			assert.NotEmpty(t, doc.Hint)
			assert.Equal(t, c.code, doc.Code)
			assert.NotContains(t, s.run(t, c.words...).out, "{", "people read no JSON")
		})
	}
}

// Agents are told which tool to call; users which command to type.
func TestRefusalsSpeakOfCommands(t *testing.T) {
	for message, want := range map[string]string{
		"no project is recorded for u; opencode_project_start starts one, opencode_project_list lists the recorded projects":            "no project is recorded for u; countersign sandbox start starts one, countersign sandbox list lists the recorded projects",
		"branch not found; opencode_sandbox_create without branch uses the current one":                                                 "branch not found; countersign sandbox create without --branch uses the current one",
		"it holds work; commit and push it, or call again with force: true, which the user then approves":                               "it holds work",
		"it holds work; push it, or call again with force: true, which the user then approves by typing the project's name":             "it holds work",
		"bring them in (sandbox_update with from: origin/main), or call again with force: true to replace them":                         "bring them in (countersign sandbox update --from origin/main), or repeat with --force to replace them",
		"use provider/model without spaces, as listed by opencode_llm_config":                                                           "use provider/model without spaces, as listed by countersign sandbox llm",
		"another project took the name acme-shop meanwhile; call again":                                                                 "another project took the name acme-shop meanwhile; repeat this command",
		"no project is active, so there is nothing to route to; opencode_project_start starts one; opencode_stop_mcp_tool ends nothing": "no project is active, so there is nothing to route to; countersign sandbox start starts one; countersign sandbox gateway stop ends nothing",
	} {
		s := stage{answers: answers{"opencode_project_stop": fails(fault.New(fault.State, "sandbox_test", message))}}
		got := s.run(t, "stop", "git@h:o/x")
		assert.Equal(t, want, fault.From(got.err).Message)
		assert.Contains(t, s.run(t, "stop", "git@h:o/x", "--json").out, want, "programs read the same words")
	}
}

// Each command says what it is for, in words and by an example that is one.
func TestEveryCommandHasAnExampleThatCanBeTyped(t *testing.T) {
	root := &cobra.Command{Use: "countersign"}
	group := sandboxcmd.Command(&command.Shell{Terminal: &command.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}})
	root.AddCommand(group)
	root.PersistentFlags().Bool("json", false, "")
	root.PersistentFlags().String("confirm-name", "", "")
	seen := 0
	for c := range everyCommand(group) {
		if c.HasSubCommands() && c != group {
			continue
		}
		seen++
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotEmpty(t, c.Example, "%s has no example", c.CommandPath())
		for line := range strings.SplitSeq(c.Example, "\n") {
			words := typed(line)
			require.NotEmpty(t, words, "an example of %s", c.CommandPath())
			found, rest, err := root.Find(words)
			require.NoError(t, err, line)
			if c != group {
				assert.Same(t, c, found, line)
			}
			require.NoError(t, found.ParseFlags(rest), line)
			assert.NoError(t, found.Args(found, found.Flags().Args()), line)
		}
	}
	assert.Greater(t, seen, 20)
}

// everyCommand is c and all below it.
func everyCommand(c *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		if !yield(c) {
			return
		}
		for _, below := range c.Commands() {
			for each := range everyCommand(below) {
				if !yield(each) {
					return
				}
			}
		}
	}
}

// typed returns the words of an example behind the program's name: without variables before it, what follows two blanks, and where its output goes.
func typed(line string) []string {
	_, line, _ = strings.Cut(line, "countersign ")
	line, _, _ = strings.Cut(line, "  ")
	line, _, _ = strings.Cut(line, " > ")
	return strings.Fields(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(line, "words"))
}

// What is no completion of ours is none: a branch and a new name are no files.
func TestFlagsThatAreNoFilesCompleteNone(t *testing.T) {
	s := stage{answers: answers{"opencode_project_list": says(shop)}}
	for _, words := range [][]string{{"create", "acme-shop", "x", "--branch", ""}, {"restore", "acme-shop", "r", "--name", ""}} {
		assert.Equal(t, ":4\n", s.run(t, append([]string{cobra.ShellCompRequestCmd}, words...)...).out)
	}
}

// What cannot name a sandbox is refused by name and rule, not by a pattern.
func TestANameThatCannotBe(t *testing.T) {
	refuse := func(fields ...string) stage {
		var problems []map[string]string
		for _, f := range fields {
			problems = append(problems, map[string]string{"field": f})
		}
		return stage{answers: answers{"opencode_sandbox_create": fails(tool.ErrArguments.WithMessage("'name' must match ^x+$").WithDetails(map[string]any{"problems": problems}))}}
	}
	got := refuse("name").run(t, "create", "git@h:o/x", "b ad")
	assert.ErrorIs(t, got.err, tool.ErrArguments)
	assert.ErrorContains(t, got.err, `invalid sandbox name "b ad"`)
	for _, others := range [][]string{{"branch"}, {"name", "branch"}, {}} {
		assert.ErrorContains(t, refuse(others...).run(t, "create", "git@h:o/x", "b").err, "must match", "another refusal keeps its words")
	}
}
