/** Allowed logos: raster images, detected by their first bytes and not by the declared type. An SVG is a document. */
const kinds: { type: string; begins: (bytes: Buffer) => boolean }[] = [
  { type: 'image/png', begins: (b) => b.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')) },
  { type: 'image/jpeg', begins: (b) => b.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { type: 'image/gif', begins: (b) => /^GIF8[79]a$/.test(b.toString('latin1', 0, 6)) },
  { type: 'image/webp', begins: (b) => b.toString('latin1', 0, 4) === 'RIFF' && b.toString('latin1', 8, 12) === 'WEBP' },
];

const maxBase64Length = 65_536;

/** The image in a data: URL, or a sentence about its problem. */
export function readLogo(url: string): { type: string; bytes: Buffer } | string {
  const comma = url.indexOf(',');
  const encoded = url.slice(comma + 1);
  if (encoded.length > maxBase64Length) return `logo must have at most ${maxBase64Length} characters of base64; make the image smaller`;
  const bytes = Buffer.from(encoded, 'base64');
  const type = url.slice('data:'.length, url.indexOf(';'));
  const is = kinds.find((k) => k.begins(bytes))?.type;
  if (!is) return 'logo must be a PNG, JPEG, WebP or GIF image';
  return is === type ? { type, bytes } : `logo says ${type} but is ${is}; name what it is`;
}
