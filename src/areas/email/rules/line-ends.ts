/**
 * Watches a message go by, piece by piece: every line must end in CR LF. A lone LF or CR is a line end for some servers and none for
 * others, which is how one message is made to look like two (SMTP smuggling); NUL ends texts early.
 */
export interface LineWatch {
  /** What is wrong with this piece, seen together with those before it. */
  look(piece: Buffer): string | undefined;
  /** What is wrong with where it stopped. */
  end(): string | undefined;
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const sentence = 'every line must end in CR LF, and there is a lone CR or LF; send it as RFC 5321 has it';

export function watchLineEnds(): LineWatch {
  let endedInReturn = false;
  return {
    look: (piece) => {
      if (piece.length === 0) return undefined;
      if (endedInReturn && piece[0] !== lineFeed) return sentence;
      for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, at + 1))
        if (at === 0 ? !endedInReturn : piece[at - 1] !== carriageReturn) return sentence;
      for (let at = piece.indexOf(carriageReturn); at >= 0; at = piece.indexOf(carriageReturn, at + 1))
        if (at + 1 < piece.length && piece[at + 1] !== lineFeed) return sentence;
      endedInReturn = piece[piece.length - 1] === carriageReturn;
      return piece.includes(0) ? 'the message contains NUL, which no mail may; encode it as base64' : undefined;
    },
    end: () => (endedInReturn ? sentence : undefined),
  };
}
