import { invalid } from "../../core/errors.ts";
import { passwordProblem } from "../../core/password_policy.ts";

/** Checks that a new password is not the first that anyone would try. Errors: invalid. */
export function checkPassword(path: string, password: string, email: string): void {
  const problem = passwordProblem(password, email);
  if (problem !== null) throw invalid(path, problem);
}
