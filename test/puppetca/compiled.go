package puppetca

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/test/artifact"
)

// Program is one of Debian's programs in Clojure, which compile themselves each time that they
// start: that is almost half of the processor time of a start.
type Program struct {
	// Jar is where the program is.
	Jar string
	// namespaces are those that it starts by, and services are lists of others.
	namespaces, services []string
}

// Server and Database are a Puppet server and PuppetDB.
var (
	Server = Program{
		Jar:        "/usr/share/puppetserver/puppetserver.jar",
		namespaces: []string{"puppetlabs.trapperkeeper.main", "puppetlabs.services.ca.certificate-authority-disabled-service"},
		services:   []string{"/etc/puppet/puppetserver/services.d/bootstrap.cfg", "/etc/puppet/puppetserver/services.d/ca.cfg"},
	}
	Database = Program{
		Jar:        "/usr/share/puppetdb/puppetdb.jar",
		namespaces: []string{"puppetlabs.puppetdb.core", "puppetlabs.puppetdb.cli.services"},
		services:   []string{"/etc/puppetdb/bootstrap.cfg"},
	}
)

// compiledServer is the jar of this machine's Puppet server with its namespaces compiled. It is
// built once for each version of the packages.
func compiledServer(ctx context.Context) (string, error) {
	key := ""
	for _, jar := range classPath(Server.Jar) {
		digest, err := artifact.Digest(jar)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a manifest may name jars that are not installed
		}
		if err != nil {
			return "", err
		}
		key += jar + " " + digest + "\n"
	}
	return artifact.File("puppetserver.jar", key, func(path string) error { return Server.Compile(ctx, "/", path) })
}

// classPath is a jar with those that its manifest names.
func classPath(jar string) []string {
	all := []string{jar}
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return all // reading it is an error later
	}
	defer archive.Close()
	text, err := fs.ReadFile(archive, "META-INF/MANIFEST.MF")
	if err != nil {
		return all
	}
	lines := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n ", "") // a long line goes on after a space
	for line := range strings.Lines(lines) {
		if list, ok := strings.CutPrefix(line, "Class-Path:"); ok {
			all = append(all, strings.Fields(list)...)
		}
	}
	return all
}

// service is a line of a list of services, with the namespace of a service.
var service = regexp.MustCompile(`(?m)^\s*([a-z][^/#\s]*)/`)

// Compile writes the program's jar with its namespaces compiled. root is the folder of the
// system that has the packages, "/" for this machine, and any other needs root's rights.
func (p Program) Compile(ctx context.Context, root, file string) error {
	namespaces := slices.Clone(p.namespaces)
	for _, list := range p.services {
		text, err := os.ReadFile(filepath.Join(root, list))
		if err != nil {
			return fmt.Errorf("listing the services of %s: %w", p.Jar, err)
		}
		for _, found := range service.FindAllSubmatch(text, -1) {
			namespaces = append(namespaces, string(found[1]))
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o1777); err != nil {
		return fmt.Errorf("creating the folder for temporary files: %w", err)
	}
	classes, err := os.MkdirTemp(filepath.Join(root, "tmp"), "classes-")
	if err != nil {
		return fmt.Errorf("creating a folder for classes: %w", err)
	}
	defer os.RemoveAll(classes)
	inside, err := filepath.Rel(root, classes)
	if err != nil {
		return err
	}
	inside = path.Join("/", filepath.ToSlash(inside))
	expression := fmt.Sprintf(`(do (binding [*compile-path* %q] (doseq [n '(%s)] (compile n))) (shutdown-agents))`, inside, strings.Join(namespaces, " "))
	args := []string{"/usr/bin/java", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", inside + ":" + p.Jar, "clojure.main", "-e", expression}
	if root != "/" { // Java finds its libraries by /proc
		args = append([]string{"unshare", "--mount", "/bin/sh", "-c", `mount -t proc proc "$0/proc" && exec chroot "$0" "$@"`, root}, args...)
	}
	java := exec.CommandContext(ctx, args[0], args[1:]...)
	java.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if output, err := java.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w\n%s", p.Jar, err, output)
	}
	return addClasses(filepath.Join(root, p.Jar), classes, file)
}

// addClasses writes a jar with further classes to a file.
func addClasses(jar, classes, file string) (problem error) {
	from, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("opening %s: %w", jar, err)
	}
	defer from.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { problem = errors.Join(problem, out.Close()) }()
	to, there := zip.NewWriter(out), map[string]bool{}
	for _, entry := range from.File {
		there[entry.Name] = true
		if err := to.Copy(entry); err != nil {
			return fmt.Errorf("copying %s of %s: %w", entry.Name, jar, err)
		}
	}
	err = filepath.WalkDir(classes, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(classes, name)
		if err != nil || there[filepath.ToSlash(inside)] {
			return err
		}
		// Clojure compiles sources that are newer than their class.
		w, err := to.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(inside), Modified: time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, bytes.NewReader(content))
		return err
	})
	if err != nil {
		return fmt.Errorf("adding classes to %s: %w", file, err)
	}
	return to.Close()
}
