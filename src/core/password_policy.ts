/** Why nobody should have this password, as a text after its field's name, or null. Lengths are the schemas' matter. */
export function passwordProblem(password: string, email: string): string | null {
  const bare = password.trim().toLowerCase();
  if (bare === "") return "must not be blank";
  // By character, not by half of one.
  if (new Set(bare).size === 1) return "must not be one character over and over";
  if (bare === email.toLowerCase() || bare === email.toLowerCase().split("@")[0])
    return "must not be the email";
  return null;
}
