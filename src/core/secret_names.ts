/**
 * Letters of names whose values are never written down, whatever the case and what stands between words. Answers
 * to a form are among them: whoever makes the form may ask for anything; and what somebody who wants a loan says of
 * themselves, which is blanked with a deleted draft. Where a customer authorizes a mandate is no
 * secret to whom it is answered; of addresses only the origin is kept anyway. Nor is the period of a debit.
 */
const SECRET_NAME =
  /pass(word|phrase|code)|pwd|secret|token|(?<!^period)key|authorization(?!url$)|credential|cookie|signature|private|hash|otp|cvv|icnumber|iclast4|^ip$|useragent|accountnumber|cardnumber|answers|^borrower$|^purpose$/;

/** Whether a field of this name may hold a secret, or a person's number or trace. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
}
