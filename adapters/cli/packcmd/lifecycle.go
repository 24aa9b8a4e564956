package packcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrDamaged reports a store with files that are no readable packs.
var ErrDamaged = fault.New(fault.State, "pack_store_damaged", "the pack store has damaged files")

// ErrNoPart reports a key that no anchor and no diagram of a pack has.
var ErrNoPart = fault.New(fault.NotFound, "pack_part_unknown", "anchor or diagram not found")

// staleRefs is the code of a refusal to finalize because of refs that no longer resolve.
const staleRefs = "pack_refs_stale"

func (g group) finalize() *cobra.Command {
	var snapshot bool
	c := &cobra.Command{Use: "finalize [PACK]", Short: "Finalize a draft: every anchor must resolve, and it can no longer change", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks("draft")}
	c.Flags().BoolVar(&snapshot, "snapshot", false, "keep the anchored text as proof of what the pack showed")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ident, err := g.resolve(cmd.Context(), command.First(args), "draft")
		if err != nil {
			return err
		}
		err = g.change(cmd.Context(), ident, "finalized", func(stored) (command.Arguments, error) {
			call := command.Arguments{"action": "set_status", "status": "finalized"}
			if snapshot {
				call["snapshot"] = true
			}
			return call, nil
		})
		if f := fault.From(err); f != nil && f.Code == staleRefs && !g.JSON {
			return f.WithDetails(command.Hint(fmt.Sprintf("a ref is SECTION::KEY (FILE:LINES); say anew where it is with countersign pack add FILE:LINES --pack %s --section SECTION --key KEY, which replaces it; "+
				"countersign pack reanchor %s moves those whose text moved", ident, ident)))
		}
		return err
	}
	return c
}

func (g group) reopen() *cobra.Command {
	return &cobra.Command{Use: "reopen [PACK]", Short: "Make a finalized pack a draft again", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks("finalized"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ident, err := g.resolve(cmd.Context(), command.First(args), "finalized")
			if err != nil {
				return err
			}
			return g.change(cmd.Context(), ident, "reopened", func(stored) (command.Arguments, error) {
				return command.Arguments{"action": "set_status", "status": "draft"}, nil
			})
		}}
}

func (g group) touch() *cobra.Command {
	var ttl, extend string
	c := &cobra.Command{Use: "touch [PACK]", Short: "Extend the expiry of a pack", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks(""),
		Example: "  countersign pack touch login-bug --extend 2d"}
	c.Flags().StringVar(&ttl, "ttl", "", "expire this long from now: 90m, 24h, 7d")
	c.Flags().StringVar(&extend, "extend", "", "extend the expiry by this duration")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if (ttl == "") == (extend == "") {
			return command.Usage(cmd, "give exactly one of --ttl and --extend")
		}
		flag, field, text := "--ttl", "ttl_minutes", ttl
		if extend != "" {
			flag, field, text = "--extend", "extend_minutes", extend
		}
		n, err := minutes(flag, text)
		if err != nil {
			return err
		}
		ident, err := g.resolve(cmd.Context(), command.First(args), "")
		if err != nil {
			return err
		}
		o, p, err := g.edit(cmd.Context(), ident, func(stored) (command.Arguments, error) {
			return command.Arguments{"action": "touch_ttl", field: n}, nil
		})
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.Show(o)
		}
		g.Line("%s expires %s", p.label(), moment(p.ExpiresAt))
		return nil
	}
	return c
}

func (g group) reanchor() *cobra.Command {
	return &cobra.Command{Use: "reanchor [PACK]", Short: "Move a draft's anchors to where their text is now", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks("draft"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ident, err := g.resolve(cmd.Context(), command.First(args), "draft")
			if err != nil {
				return err
			}
			o, p, err := g.edit(cmd.Context(), ident, func(stored) (command.Arguments, error) { return command.Arguments{"action": "reanchor"}, nil })
			switch {
			case err != nil:
				return err
			case g.JSON:
				return g.Show(o)
			}
			for _, m := range p.Moved {
				g.Line("%s::%s  %s -> %s", command.Plain(m.Section), command.Plain(m.Key), m.From, m.To)
			}
			if len(p.Moved) == 0 {
				g.Line("no anchors of %s moved", p.label())
				return nil
			}
			g.Line("reanchored %s, revision %d", p.label(), p.Revision)
			return nil
		}}
}

// take is remove: an anchor or a diagram out of a draft.
func (g group) take() *cobra.Command {
	var named string
	c := &cobra.Command{Use: "remove ANCHOR...", Short: "Remove anchors, diagrams or sections from a draft", Args: command.Args(1, -1),
		Long: "Remove anchors and diagrams from a draft by key, as printed by pack show and pack diff; use SECTION::KEY if two sections have the key, " +
			"and SECTION:: for a whole section. One command is one change. pack delete deletes a whole pack.",
		Example: "  countersign pack remove token-go-12\n  countersign pack remove findings::token-go-12 notes:: --pack login-bug"}
	c.Flags().StringVarP(&named, "pack", "p", "", "ID or name of the pack (default: the draft changed last)")
	_ = c.RegisterFlagCompletionFunc("pack", g.completePacks("draft"))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ident, err := g.resolve(cmd.Context(), named, "draft")
		if err != nil {
			return err
		}
		return g.change(cmd.Context(), ident, "removed "+command.Plain(strings.Join(args, ", "))+" from", func(p stored) (command.Arguments, error) { return p.withoutAll(args) })
	}
	return c
}

// without returns the call that takes the anchor or diagram of that key out. It fails where there is none, or more than one.
func (p stored) without(key string) (command.Arguments, error) {
	var found []command.Arguments
	var all, alike []string
	if whole, ok := strings.CutSuffix(key, "::"); ok {
		if _, there := p.section(whole); !there {
			var keys []string
			for _, s := range p.Sections {
				keys = append(keys, s.Key+"::")
			}
			return nil, ErrNoPart.WithMessage("section %[2]q of %[1]s not found", p.label(), whole).WithDetails(command.Hint("use one of: " + strings.Join(keys, ", ")))
		}
		return command.Arguments{"action": "delete_section", "section_key": whole}, nil
	}
	for _, s := range p.Sections {
		look := func(items []keyed, action, field string) {
			for _, item := range items {
				full := s.Key + "::" + item.Key
				all = append(all, full)
				if key == item.Key || key == full {
					found, alike = append(found, command.Arguments{"action": action, "section_key": s.Key, field: item.Key}), append(alike, full)
				}
			}
		}
		look(s.Refs, "delete_ref", "ref_key")
		look(s.Diagrams, "delete_diagram", "diagram_key")
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, command.ErrUsage.WithMessage("%s has %q more than once", p.label(), key).WithDetails(command.Hint("use one of: " + strings.Join(alike, ", ")))
	case len(all) == 0:
		return nil, ErrNoPart.WithMessage("%s has no anchors and no diagrams", p.label())
	}
	return nil, ErrNoPart.WithMessage("anchor or diagram %[2]q of %[1]s not found", p.label(), key).WithDetails(command.Hint("use one of: " + strings.Join(all, ", ")))
}

func (g group) remove() *cobra.Command {
	return &cobra.Command{Use: "delete PACK", Aliases: []string{"rm"}, Short: "Delete a pack (its file moves to the store's trash)", Args: command.Args(1, 1), ValidArgsFunction: g.completePacks(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			var gone stored
			o, _, err := g.edit(cmd.Context(), args[0], func(p stored) (command.Arguments, error) {
				gone = p
				return command.Arguments{"action": "delete_pack"}, nil
			})
			switch {
			case err != nil:
				return err
			case g.JSON:
				return g.Show(o)
			}
			g.Line("deleted %s; its file is in the store's trash", gone.label())
			return nil
		}}
}

// examined is the answer of the tool inspect_pack_store.
type examined struct {
	Count   int `json:"count"`
	Damaged []struct {
		File   string `json:"file"`
		Reason string `json:"reason"`
	} `json:"damaged"`
	Hidden []struct {
		File string `json:"file"`
		What string `json:"what"`
	} `json:"hidden"`
}

func (g group) doctor() *cobra.Command {
	var quarantine bool
	c := &cobra.Command{Use: "doctor", Short: "Find unreadable files in the pack store, and quarantine them on request", Args: command.Args(0, 0),
		Long: "Find unreadable files in the pack store. With --quarantine each is moved to quarantine after you approve it; nothing is deleted.\n" +
			"Packs with invisible or misleading characters are listed, too. The exit code is 4 if damaged files remain."}
	c.Flags().BoolVar(&quarantine, "quarantine", false, "quarantine the damaged files, after you approve each (or with --yes)")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return g.examine(cmd.Context(), quarantine) }
	return c
}

func (g group) examine(ctx context.Context, quarantine bool) error {
	o, err := g.Call(ctx, "inspect_pack_store", command.Arguments{})
	if err != nil {
		return g.Fail(o, err)
	}
	var found examined
	if err := json.Unmarshal(o.Value, &found); err != nil {
		return fault.From(err)
	}
	switch {
	case quarantine && found.Count > 0:
		return g.setAside(ctx, found)
	case g.JSON:
		if err := g.Show(o); err != nil {
			return err
		}
	case found.Count == 0 && len(found.Hidden) == 0:
		g.Line("the pack store is healthy")
	}
	if !g.JSON {
		for _, h := range found.Hidden {
			g.Line("%s\n  %s", command.Plain(h.File), command.Plain(h.What))
		}
	}
	if found.Count == 0 {
		return nil
	}
	if !g.JSON {
		for _, d := range found.Damaged {
			g.Line("%s\n  %s", command.Plain(d.File), command.Plain(d.Reason))
		}
	}
	return ErrDamaged.WithMessage("%s unreadable", files(found.Count)).WithDetails(command.Hint("repair, or set aside with: countersign pack doctor --quarantine"))
}

func files(n int) string {
	if n == 1 {
		return "1 file in the pack store is"
	}
	return fmt.Sprintf("%d files in the pack store are", n)
}

// setAside moves the damaged files, each after a yes.
func (g group) setAside(ctx context.Context, found examined) error {
	for _, d := range found.Damaged {
		o, err := g.Call(ctx, "quarantine_pack_file", command.Arguments{"file": d.File})
		if err != nil {
			return g.Fail(o, err)
		}
		var done struct {
			Moved string `json:"moved_to"`
		}
		switch err := json.Unmarshal(o.Value, &done); {
		case err != nil:
			return fault.From(err)
		case g.JSON:
			if err := g.Show(o); err != nil {
				return err
			}
		default:
			g.Line("moved %s\n   to %s", command.Plain(d.File), command.Plain(done.Moved))
		}
	}
	return nil
}
