import { type Field, isScalar, type Message, messageNamed } from '../rules/schema/messages.ts';

// Encodes protobuf as Go does, zero values included: the counterpart of schema/protobuf.ts.

const varint = (value: number | bigint): Buffer => {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(left & 127n) | (left > 127n ? 128 : 0));
    left >>= 7n;
  } while (left > 0n);
  return Buffer.from(bytes);
};
export const bytesField = (number: number, bytes: Buffer) => Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
const intField = (number: number, value: number | bigint) => Buffer.concat([varint(number << 3), varint(value)]);
const textField = (number: number, text: string) => bytesField(number, Buffer.from(text));

function encodeValue(number: number, type: string, value: unknown): Buffer {
  if (!isScalar(type)) return bytesField(number, encodeMessage(messageNamed(type), value as Record<string, unknown>));
  switch (type) {
    case 'string':
      return textField(number, String(value));
    case 'int':
      return intField(number, value as number);
    case 'bool':
      return intField(number, value ? 1 : 0);
    case 'bytes':
      return bytesField(number, Buffer.from(String(value), 'base64'));
    case 'time':
    case 'microtime': {
      const micros = Number((/\.(\d{6})Z$/.exec(String(value)) ?? ['', '0'])[1]);
      return bytesField(number, Buffer.concat([intField(1, Math.floor(Date.parse(String(value)) / 1000)), intField(2, micros * 1000)]));
    }
    case 'quantity':
      return bytesField(number, textField(1, String(value)));
    case 'intstr':
      return bytesField(
        number,
        typeof value === 'number'
          ? Buffer.concat([intField(1, 0), intField(2, value), textField(3, '')])
          : Buffer.concat([intField(1, 1), intField(2, 0), textField(3, String(value))]),
      );
    case 'strings':
      return bytesField(number, Buffer.concat((value as string[]).map((one) => textField(1, one))));
    case 'raw':
      return bytesField(number, textField(1, JSON.stringify(value)));
  }
}

const zeros: Record<string, unknown> = { string: '', int: 0, bool: false };

function encodeField({ number, type, cardinality, keepsZero }: Field, value: unknown): Buffer {
  if (value === undefined)
    return cardinality === 'one' && !keepsZero && type in zeros ? encodeValue(number, type, zeros[type]) : Buffer.alloc(0);
  if (cardinality === 'list') return Buffer.concat((value as unknown[]).map((one) => encodeValue(number, type, one)));
  if (cardinality === 'map')
    return Buffer.concat(
      Object.entries(value as object).map(([key, one]) =>
        bytesField(number, Buffer.concat([textField(1, key), encodeValue(2, type, one)])),
      ),
    );
  return encodeValue(number, type, value);
}

export const encodeMessage = (message: Message, value: Record<string, unknown>): Buffer =>
  Buffer.concat([...message.fields.values()].map((field) => encodeField(field, value[field.name])));

export const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    bytesField(1, Buffer.concat([textField(1, apiVersion), textField(2, kind)])),
    bytesField(2, raw),
    textField(3, ''),
    textField(4, ''),
  ]);
