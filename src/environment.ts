// Imported before all else: libraries look at NODE_ENV when they load, and outside of production one of them
// writes every refused body out, indented, which takes seconds and gigabytes for a hostile one.
process.env.NODE_ENV ??= "production";
