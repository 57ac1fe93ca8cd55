/**
 * Checks a message piece by piece: every line must end in CR LF. A lone LF or CR is a line end for some servers and none for others, which
 * makes one message look like two (SMTP smuggling). NUL truncates texts.
 */
export interface LineEndCheck {
  /** The problem of this piece, in the context of those before it. */
  check(piece: Buffer): string | undefined;
  /** The problem of the end. */
  end(): string | undefined;
}

const sentence = 'every line must end in CR LF, and there is a lone CR or LF; send it as RFC 5321 has it';
/** A CR at the very end may be half of a line end. */
const lone = /\r(?!\n|$)|(?<!\r)\n/;

export function watchLineEnds(): LineEndCheck {
  let endedInReturn = false;
  return {
    check: (piece) => {
      // As text: a regular expression is four times as fast as a loop over bytes.
      const text = `${endedInReturn ? '\r' : ''}${piece.toString('latin1')}`;
      endedInReturn = text.endsWith('\r');
      if (lone.test(text)) return sentence;
      return text.includes('\0') ? 'the message contains NUL, which no mail may; encode it as base64' : undefined;
    },
    end: () => (endedInReturn ? sentence : undefined),
  };
}
