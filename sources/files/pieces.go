package files

// Files is how many files the part reads, or pieces of files.
func (p *part) Files() int { return len(p.chunks) }
