package ecosystem

// Draft is an ecosystem to be made (amof contract §13, tool 31).
type Draft struct {
	Name        string
	Description string
	Provisioner string
	Repos       []Repo // Name, URL, Branch and ReadOnly count
}

// member is a key of a mapping and its value: text, true or false, Members or a list of Members.
type member struct {
	Key   string
	Value any
}

// Members are a mapping in the order in which it is written.
type Members []member

// DraftDocument returns what the manifest of a new ecosystem says. A branch that is not named is main.
func DraftDocument(n Draft) Members {
	out := Members{{"name", n.Name}}
	if n.Description != "" {
		out = append(out, member{"description", n.Description})
	}
	if n.Provisioner != "" {
		out = append(out, member{"provisioner", n.Provisioner})
	}
	repos := make([]Members, 0, len(n.Repos))
	for _, r := range n.Repos {
		if r.Branch == "" {
			r.Branch = standardBranch
		}
		repo := Members{{"name", r.Name}, {"url", r.URL}, {"branch", r.Branch}}
		if r.ReadOnly {
			repo = append(repo, member{"readonly", true})
		}
		repos = append(repos, repo)
	}
	return append(out, member{"repos", repos})
}

// Read returns what Of will read once the new ecosystem is written: nothing else may be.
func (n Draft) Read() ManifestResult { return ReadManifest(n.Name, plain(DraftDocument(n))) }

// plain returns the mapping as a parser gives it.
func plain(m Members) map[string]any {
	out := make(map[string]any, len(m))
	for _, member := range m {
		out[member.Key] = member.Value
		if list, ok := member.Value.([]Members); ok {
			items := make([]any, len(list))
			for i, item := range list {
				items[i] = plain(item)
			}
			out[member.Key] = items
		}
	}
	return out
}
