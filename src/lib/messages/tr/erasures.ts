import type { erasures } from '../en/erasures.ts'

export const erasuresInTurkish: Readonly<Record<keyof typeof erasures, string>> = {
  UNREACHED_BACKUPS: 'veri deposunun yedekleri ve kopyaları',
  UNREACHED_SENT: 'bildirimleri okuyan programların aldıkları ve uç noktalara gönderilenler',
  UNREACHED_KEPT:
    'olduğu gibi kalanlar: sipariş numaraları, süresi dolana kadar Idempotency-Key değerleri ve denetim kaydı; denetim kaydında reddedilen isteklerin istemci adresleri, istek kimlikleri ve ürün kodları vardır',
  UNREACHED_AUDIT:
    'denetim kaydı: istemci adresleri, anahtarların ağları, reddedilen ürün kodları ve önceki sürümlerde oluşturulan anahtarların etiketleri bu kimlik altında kalır',
  UNREACHED_INDEXES:
    'dizin sayfalarının kullanılmayan bölümlerindeki sipariş numarası, Idempotency-Key ve istek kimliği kopyaları; "teslim purge --rewrite" çalışana kadar kalır',
  UNREACHED_DATABASE: 'VACUUM (FULL) çalışana kadar ölü satırlar, arşivlenmiş WAL ve veritabanının replikaları',

  PAGES_LEFT:
    'sayfaların kullanılmayan bölümlerinde silinenler hâlâ bulunabilir, çünkü çok sayıda sayfa var; sunucunun yanında çalıştırın: {command}',
  LOG_LEFT: 'dosyanın yanındaki günlükte silinenler hâlâ bulunabilir, çünkü {reason}; yeniden çalıştırın: {command}',
  LOG_IS_READ: 'günlüğü başka bir işlem okuyor',
  THIS_COMMAND: 'bu komutu',
}
