package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ManifestsData is the data of agents_manifests_write.
type ManifestsData struct {
	Written   bool           `json:"written"`
	Manifests []ManifestItem `json:"manifests"`
}

// ManifestItem is one ownership manifest beside the files.
type ManifestItem struct {
	Target    string `json:"target"`
	Path      string `json:"path"`
	PathPosix string `json:"path_posix"`
}

// prepareManifests returns the manifests that earlier versions and the original expect beside the files: what the home records for this config
// repository. An existing one stays.
func (s *maintenanceService) prepareManifests(ctx context.Context, _ tool.Scope, in ManifestsInput) (*planner.Edit[ManifestsData], error) {
	at, err := s.place(ctx, in.Selection())
	if err != nil {
		return nil, err
	}
	writes, err := s.Registry.Manifests(ctx, at)
	if err != nil {
		return nil, err
	}
	data := ManifestsData{Manifests: []ManifestItem{}}
	for _, w := range writes {
		data.Manifests = append(data.Manifests, ManifestItem{w.Target, w.Path, deployment.PosixPath(w.Path)})
	}
	return &planner.Edit[ManifestsData]{Command: "write ownership manifests beside the files", Place: at, Writes: writes, Nothing: len(writes) == 0,
		Report: planner.NewReport(data, "the next deployment takes these manifests over again and removes them")}, nil
}

// writeManifests writes them.
func (s *maintenanceService) writeManifests(ctx context.Context, sc tool.Scope, e *planner.Edit[ManifestsData]) (none planner.Report[ManifestsData], err error) {
	if len(e.Writes) > 0 {
		if _, err := s.Machine.Apply(ctx, e.Transaction(), planner.ReportProgress(sc, "writing manifests")); err != nil {
			return none, planner.WithWarnings(err, e.Report.Warnings)
		}
		e.Report.Data.Written = true
	}
	return e.Report, nil
}
