package configfiles

import (
	"encoding/xml"
	"fmt"
	"maps"
	"regexp"
	"slices"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// loggerName matches the name of a class or package. Braces are not allowed: logback would
// expand them as variables, including those of the environment.
var loggerName = regexp.MustCompile(`\A[A-Za-z0-9_.$-]+\z`)

type logback struct {
	XMLName  xml.Name `xml:"configuration"`
	Appender struct {
		Name    string `xml:"name,attr"`
		Class   string `xml:"class,attr"`
		Pattern string `xml:"encoder>pattern"`
	} `xml:"appender"`
	Loggers []logger `xml:"logger"`
	Root    struct {
		Level    string `xml:"level,attr"`
		Appender struct {
			Ref string `xml:"ref,attr"`
		} `xml:"appender-ref"`
	} `xml:"root"`
}

type logger struct {
	Name  string `xml:"name,attr"`
	Level string `xml:"level,attr"`
}

func (in Input) logback() (string, error) {
	const stdout = "STDOUT"
	spec := in.Config.Spec.Logging
	root, err := level(spec.Level)
	if err != nil {
		return "", err
	}
	file := logback{}
	file.Appender.Name, file.Appender.Class = stdout, "ch.qos.logback.core.ConsoleAppender"
	file.Appender.Pattern = `%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5p [%t] [%c{2}] %m%n`
	for _, name := range slices.Sorted(maps.Keys(spec.Loggers)) {
		if !loggerName.MatchString(name) {
			return "", fmt.Errorf("logback.xml: %q is not a name of a logger, such as puppetlabs.puppetserver", name)
		}
		written, err := level(spec.Loggers[name])
		if err != nil {
			return "", err
		}
		file.Loggers = append(file.Loggers, logger{name, written})
	}
	file.Root.Level, file.Root.Appender.Ref = root, stdout
	text, err := xml.MarshalIndent(file, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing logback.xml: %w", err)
	}
	return string(text) + "\n", nil
}

func level(wanted v1alpha1.LogLevel) (string, error) {
	switch wanted {
	case "":
		return "INFO", nil
	case "TRACE", "DEBUG", "INFO", "WARN", "ERROR":
		return string(wanted), nil
	}
	return "", fmt.Errorf("logback.xml: %q is not a valid level: use TRACE, DEBUG, INFO, WARN or ERROR", wanted)
}
