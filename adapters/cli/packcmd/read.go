package packcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// summary is a pack in a list.
type summary struct {
	stored
	Freshness string `json:"freshness_state"`
	Remaining string `json:"ttl_remaining_human"`
}

func (g group) list() *cobra.Command {
	var status, query, freshness string
	var limit, offset int
	c := &cobra.Command{Use: "list", Short: "List packs, most recently changed first", Args: command.Args(0, 0)}
	c.Flags().StringVar(&status, "status", "", "only draft or finalized packs")
	c.Flags().StringVar(&query, "query", "", "only packs with this in title, name or brief")
	c.Flags().StringVar(&freshness, "freshness", "", "only fresh or expiring_soon packs")
	c.Flags().IntVar(&limit, "limit", 0, "maximum number of packs (default: all)")
	c.Flags().IntVar(&offset, "offset", 0, "number of packs to skip")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		call := command.Arguments{"action": "list"}.Set("status", status).Set("query", query).Set("freshness", freshness)
		most := -1
		if cmd.Flags().Changed("limit") {
			most = limit
		}
		found, o, err := g.everyPack(cmd.Context(), call, offset, most)
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.Show(o)
		case len(found) == 0:
			g.Note("no packs; start one with: countersign pack new NAME")
			return nil
		}
		var rows [][]string
		for _, p := range found {
			rows = append(rows, []string{p.ID, p.Name, p.Title, p.Status, strconv.FormatUint(p.Revision, 10), p.Remaining})
		}
		g.Table([]string{"id", "name", "title", "status", "revision", "expires in"}, rows)
		return nil
	}
	return c
}

// packsPage is how many packs are asked for at a time: with names and titles as people write them, these fit into one answer.
const packsPage = 2000

// everyPack lists up to so many packs from an offset on, all where most is below zero, page by page. The outcome is that of one list. Packs that change
// meanwhile are in it once.
func (g group) everyPack(ctx context.Context, call command.Arguments, offset, most int) ([]summary, tool.Outcome, error) {
	var all []summary
	var rows []json.RawMessage
	seen := map[string]bool{}
	for page := packsPage; ; {
		call["offset"], call["limit"] = offset, page
		if most >= 0 {
			call["limit"] = min(page, most-len(all))
		}
		var answer struct {
			Total int               `json:"total"`
			Packs []json.RawMessage `json:"packs"`
		}
		o, err := g.payload(ctx, call, &answer)
		if f := fault.From(err); f != nil && f.Code == "pack_output_too_large" && page > 1 {
			page /= 2
			continue
		}
		if err != nil {
			return nil, o, err
		}
		for _, row := range answer.Packs {
			var p summary
			if err := json.Unmarshal(row, &p); err != nil {
				return nil, o, fault.From(err)
			}
			if !seen[p.ID] {
				seen[p.ID] = true
				all, rows = append(all, p), append(rows, row)
			}
		}
		offset += len(answer.Packs)
		if len(answer.Packs) == 0 || offset >= answer.Total || len(all) == most {
			if len(all) > len(answer.Packs) {
				o.Value, err = tool.Encode(map[string]any{"action": "list", "payload": map[string]any{"count": len(all), "total": answer.Total, "packs": rows}})
			}
			return all, o, err
		}
	}
}

func (g group) show() *cobra.Command {
	var view, match, cursor, status string
	var tokens, limit int
	var noPager bool
	c := &cobra.Command{Use: "show [PACK]", Short: "Render a pack with the current code", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks("")}
	c.Flags().StringVar(&view, "view", "", "full (default) or compact")
	c.Flags().StringVar(&match, "match", "", "only anchors and diagrams that match this regular expression")
	c.Flags().IntVar(&tokens, "max-tokens", 0, "maximum number of tokens; the most important anchors are shown whole, the rest are listed")
	c.Flags().IntVar(&limit, "limit", 0, "anchors and diagrams per page")
	c.Flags().StringVar(&cursor, "cursor", "", "cursor of the next page, printed by the page before")
	c.Flags().StringVar(&status, "status", "", "fail unless the pack is draft or finalized")
	c.Flags().BoolVar(&noPager, "no-pager", false, "do not use a pager")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ident, err := g.resolve(cmd.Context(), command.First(args), "")
		if err != nil {
			return err
		}
		if g.JSON {
			return g.document(cmd.Context(), ident)
		}
		call := command.Arguments{"action": "get", "id": ident}.Set("view", view).Set("match", match).Set("cursor", cursor).Set("status", status)
		if cmd.Flags().Changed("max-tokens") {
			call["max_tokens"] = tokens
		}
		if cmd.Flags().Changed("limit") {
			call["limit"] = limit
		}
		o, err := g.Call(cmd.Context(), "output", call)
		if err != nil {
			return g.Refused(o, err)
		}
		return g.Markdown(cmd.Context(), o.Text, !noPager)
	}
	return c
}

func (g group) diff() *cobra.Command {
	return &cobra.Command{Use: "diff [PACK]", Short: "Show what has changed in the code since the pack was anchored", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			ident, err := g.resolve(cmd.Context(), command.First(args), "")
			if err != nil {
				return err
			}
			o, err := g.Call(cmd.Context(), "output", command.Arguments{"action": "diff", "id": ident})
			switch {
			case err != nil:
				return g.Refused(o, err)
			case g.JSON:
				return g.Show(o)
			}
			return g.Markdown(cmd.Context(), o.Text, true)
		}}
}

// document prints a pack as JSON.
func (g group) document(ctx context.Context, ident string) error {
	o, err := g.Call(ctx, "input", command.Arguments{"action": "get", "id": ident})
	if err != nil {
		return g.Refused(o, err)
	}
	return g.Show(o)
}

func (g group) export() *cobra.Command {
	var file string
	var force bool
	c := &cobra.Command{Use: "export [PACK]", Short: "Write a rendered pack to a file, or with --json its content", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks(""),
		Example: `  countersign pack export login-bug -o login-bug.md`}
	c.Flags().StringVarP(&file, "output", "o", "", "file to write (default: stdout)")
	c.Flags().BoolVar(&force, "force", false, "overwrite the file")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		ident, err := g.resolve(ctx, command.First(args), "")
		if err != nil {
			return err
		}
		if file == "" && g.JSON {
			return g.document(ctx, ident)
		}
		from := tool.Name("output")
		if g.JSON {
			from = "input"
		}
		o, err := g.Call(ctx, from, command.Arguments{"action": "get", "id": ident})
		if err != nil {
			return g.Refused(o, err)
		}
		text := o.Text
		if g.JSON {
			text = command.Indent(o.Value) + "\n"
		}
		if file == "" {
			_, err := g.Out.Write([]byte(text))
			return err
		}
		return g.write(file, text, force)
	}
	return c
}

// ErrFileExists reports an export that would overwrite a file.
var ErrFileExists = fault.New(fault.Conflict, "export_file_exists", "the file already exists")

// write makes the file atomically.
func (g group) write(file, text string, force bool) error {
	if _, err := os.Lstat(file); err == nil && !force {
		return ErrFileExists.WithMessage("%s already exists", file).WithDetails(command.Hint("use --force to overwrite it"))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".export-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if chmodErr := f.Chmod(0o644); err == nil {
		err = chmodErr
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	g.Note("wrote %s, %d bytes", file, len(text))
	return nil
}
