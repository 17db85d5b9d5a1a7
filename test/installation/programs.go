package installation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// programsVariable names a folder with the programs of ./cmd/..., built from this
	// checkout, so that a run of many suites builds them once.
	programsVariable = "LINTEL_PROGRAMS"
	// raceVariable is 1 to build the programs with the race detector.
	raceVariable = "LINTEL_RACE"
)

// Programs returns the folder of Lintel's programs: that of LINTEL_PROGRAMS, or the given
// one, which they are then built into.
func Programs(ctx context.Context, folder string) (string, error) {
	given := os.Getenv(programsVariable)
	if given == "" {
		return folder, Build(ctx, folder)
	}
	folder, err := filepath.Abs(given)
	if err != nil {
		return "", fmt.Errorf("%s: %w", programsVariable, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "manager")); err != nil {
		return "", fmt.Errorf("%s: %w; build ./cmd/... into %s", programsVariable, err, folder)
	}
	return folder, nil
}

// Build builds the programs into a folder, with the flags of make build: others
// would compile everything again.
func Build(ctx context.Context, folder string) error {
	args := []string{"build", "-trimpath", "-o", folder + string(filepath.Separator)}
	env := os.Environ()
	if Raced() {
		args, env = append(args, "-race"), append(env, "CGO_ENABLED=1")
	}
	command := exec.CommandContext(ctx, "go", append(args, "./cmd/...")...)
	command.Dir, command.Env = Root(), env
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w: %s", err, output)
	}
	return nil
}
