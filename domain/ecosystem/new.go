package ecosystem

// New is an ecosystem to be made (amof contract §13, tool 31).
type New struct {
	Name        string
	Description string
	Provisioner string
	Repos       []Repo // Name, URL, Branch and ReadOnly count
}

// Member is a key of a mapping and its value: text, true or false, Members or a list of Members.
type Member struct {
	Key   string
	Value any
}

// Members are a mapping in the order in which it is written.
type Members []Member

// Document is what the manifest of a new ecosystem says. A branch that is not named is main.
func Document(n New) Members {
	out := Members{{"name", n.Name}}
	if n.Description != "" {
		out = append(out, Member{"description", n.Description})
	}
	if n.Provisioner != "" {
		out = append(out, Member{"provisioner", n.Provisioner})
	}
	repos := make([]Members, 0, len(n.Repos))
	for _, r := range n.Repos {
		if r.Branch == "" {
			r.Branch = standardBranch
		}
		repo := Members{{"name", r.Name}, {"url", r.URL}, {"branch", r.Branch}}
		if r.ReadOnly {
			repo = append(repo, Member{"readonly", true})
		}
		repos = append(repos, repo)
	}
	return append(out, Member{"repos", repos})
}

// Read is what Of will read once the new ecosystem is written: nothing else may be.
func (n New) Read() Read { return Of(n.Name, plain(Document(n))) }

// plain is the mapping as a parser gives it.
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
