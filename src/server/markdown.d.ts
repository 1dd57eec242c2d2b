// Imported `with { type: "file" }`, a file is its path.
declare module "*.md" {
  const path: string;
  export default path;
}
