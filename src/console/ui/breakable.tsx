import { Fragment } from "preact";

/** Pieces of at most so many characters: where there is no punctuation, a long name breaks anywhere. */
const PIECES = /.{1,24}?(?:[/._:@?&=-]+|$)|.{24}/gs;

/** An address, or a name of parts such as an event's type: it breaks after its punctuation, not inside of words. */
export function Breakable({ of }: { of: string }) {
  return (
    <span class="breakable">
      {(of.match(PIECES) ?? []).map((piece, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {piece}
        </Fragment>
      ))}
    </span>
  );
}
