const segment = '[A-Za-z0-9_][A-Za-z0-9._-]{0,199}';
const keyPattern = new RegExp(`^${segment}(/${segment})*$`);
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Uploads are stored beside the objects, so that finishing one is a rename or a copy within the store. No key can begin with a dot. */
export const uploadsFolder = '.uploads';

/** The same keys everywhere: safe as a path (no `..`, nothing hidden, nothing empty) and in a URL without escaping. */
export function checkKey(key: string): string {
  if (key.length > 512 || !keyPattern.test(key)) {
    throw new Error(`"${key}" is no storage key; use segments of letters, digits, "_", "-" and inner dots, separated by "/"`);
  }
  return key;
}

/** Upload ids come back in clients' URLs, so any other text is simply unknown. */
export const isUploadId = (id: string) => uuidPattern.test(id);
