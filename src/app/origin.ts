/** Which interface a call arrived through. */
export type Origin = "rest" | "mcp" | "job" | "cli";
