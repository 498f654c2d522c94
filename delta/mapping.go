package delta

import (
	"strings"

	"streamlab/sql/types"
)

// MappingMode says how columns of the table find their columns in data files.
type MappingMode uint8

// The modes of delta.columnMapping.mode.
const (
	MapNone MappingMode = iota // by name
	MapName                    // by physical name
	MapID                      // by field id
)

// MappingMode of the table.
func (s *Snapshot) MappingMode() MappingMode { return mappingMode(s.Metadata) }

func mappingMode(m *Metadata) MappingMode {
	switch strings.ToLower(m.Property("delta.columnMapping.mode")) {
	case "name":
		return MapName
	case "id":
		return MapID
	}
	return MapNone
}

// physicalName is the name of a column in data files, partition values and statistics.
func physicalName(f types.Field, mode MappingMode) string {
	if mode == MapNone {
		return f.Name
	}
	if p, ok := f.Metadata[keyPhysical]; ok {
		return p
	}
	return f.Name
}

// PhysicalName is the name of a top-level column in data files, partition values and statistics.
func (s *Snapshot) PhysicalName(column string) string {
	i := s.Schema.Index(column)
	if i < 0 {
		return column
	}
	return physicalName(s.Schema[i], s.MappingMode())
}
