package redis

// openJSON gives scripts cjson.
func (v *vm) openJSON() {}
