import { invalid } from "../../core/errors.ts";
import { passwordProblem } from "../../core/password_policy.ts";

/** Rejects a new password that is easy to guess. Errors: invalid. */
export function checkPassword(path: string, password: string, email: string): void {
  const problem = passwordProblem(password, email);
  if (problem !== null) throw invalid(path, problem);
}
