import { ThingList } from '../../ui/thing-list.tsx';

/** A registry holds images of one team or product. Push to it with docker login. */
export default function Registries() {
  return (
    <ThingList
      title="Registries"
      operation="listRegistries"
      create="createRegistry"
      to={({ slug }) => `/registry/${encodeURIComponent(String(slug))}`}
      about="A registry holds images of one team or product. Push to it with docker login."
    />
  );
}
